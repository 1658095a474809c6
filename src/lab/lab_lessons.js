/* lab_lessons.js - the lessons of the lab page: the reader guesses, then the simulator answers.
 *
 * In order: progress, words, guesses, a lesson, the list of lessons, mysteries, answers for the teacher,
 * addresses. Each has an address of its own (#lessons, #lesson=08-three-way, #mystery=17, #answers), so
 * that links, the browser's way back and the keyboard work as on any page. No answer is written down
 * anywhere: each is what the simulator gives. */

const ALIKE = 0.01; // two times that differ by less are no difference
const NEITHER = 'no difference';

/* --- progress: which lessons were answered ------------------------------------------------------ */

const PROGRESS = 'pipeline-lab-lessons';
let lessonsDone = new Set();

/* A browser may keep a page from storing anything: progress then lasts as long as the page. */
function readProgress() {
    try {
        lessonsDone = new Set(JSON.parse(localStorage.getItem(PROGRESS) ?? '[]'));
    } catch { /* It begins anew. */ }
}

/* Another tab may have gone on in the meantime. */
function addProgress(name) {
    const before = lessonsDone;
    readProgress();
    lessonsDone = new Set([...lessonsDone, ...before, name]);
    writeProgress();
}

function writeProgress() {
    try {
        localStorage.setItem(PROGRESS, JSON.stringify([...lessonsDone]));
    } catch { /* The page knows it, at least. */ }
}

/* --- words -------------------------------------------------------------------------------------- */

const numberOf = (lesson) => Number.parseInt(lesson.name, 10);
const timesText = (ratio) => `${Number(ratio.toPrecision(ratio < 1 ? 2 : 3))}x`;
const runCalled = (drawn, name) => drawn.runs.find((run) => run.name === name);
const timeOf = (run) => Number(run.time_ns);
const shareOf = (run, verdict) => Number(verdict.ns) / timeOf(run);
const nameOf = (run) => html('code', '', run);
const firstCause = (run) => (run.verdicts ?? []).find(({ named }) => named);
const causeOf = (code) => catalogue.verdicts.find((verdict) => verdict.code === code);
const causeText = (code) => causeOf(code)?.text ?? '';
const wordsOfFix = (code) => causeOf(code).fix;
const link = (address, ...content) => Object.assign(html('a', '', ...content), { href: address });
const heading = (level, text) => Object.assign(html(level, '', text), { tabIndex: -1 });

/* The sentences say what a cause cost the run, how that is known, and what fixes it: here by options, unless they
 * only take a mistake away, and in CUDA. */
function causeSentences({ code, cost, share, text, seen, fix, command, predicted }) {
    const cuda = causeOf(code)?.cuda, options = command && !command.includes('--mistake=none');
    return [html('b', '', code), `, which costs ${cost}${share ? ` (${share})` : ''}: ${text}.`, seen ? ` Seen: ${seen}.` : '',
        fix ? ` What fixes it: ${fix}` : '', ...(fix && options ? [': ', html('code', '', command)] : []),
        fix && predicted ? `, which would take ${predicted}.` : fix ? '.' : '', fix && cuda ? ` In CUDA: ${cuda}.` : ''];
}

/* The state of the controls that a run of a lesson, or a mystery, is. */
function stateFrom(settings) {
    const { device, ...others } = settings;
    const short = Object.entries(others).map(([name, value]) => [name, shorten(optionOf(name), value)]);
    return { machine: device?.startsWith('sim:') ? device.slice(4) : defaultMachine(), settings: Object.fromEntries(short) };
}

const playLink = (settings, text) => link(`#${plain(stateFrom(settings))}`, text);
const settingsText = (settings) => Object.entries(settings).map(([name, value]) =>
    `${name} = ${optionOf(name) ? shorten(optionOf(name), value ?? 'default') : value ?? `sim:${FIRST_MACHINE}`}`).join(', ');

/* --- guesses ------------------------------------------------------------------------------------ */

let fieldNames = 0; // radio buttons of one question have one name

/* A choice among `offers`, each a value and what stands beside it. Gives `read()`: the value that
 * was chosen, or null. */
function makeChoice(legend, offers) {
    const name = `guess-${fieldNames++}`;
    const rows = offers.map(([value, ...content]) =>
        html('label', 'offer', input('radio', { name, value }), html('span', '', ...content)));
    const field = html('fieldset', 'guess', html('legend', '', legend), ...rows);
    return { field, read: () => field.querySelector(':checked')?.value ?? null };
}

const SLIDER_STEPS = 200;

/* A slider, whose steps are equal factors, and the number beside it. */
function makeScale({ question, least, most }) {
    const number = input('number', { min: 0.001, max: 1000, step: 'any', inputMode: 'decimal' });
    const slider = input('range', { min: 0, max: SLIDER_STEPS, step: 1, value: SLIDER_STEPS / 2 });
    const span = Math.log(most / least), textOf = (value) => `${Number(value.toPrecision(2))}`;
    const valueAt = (step) => least * Math.exp(span * step / SLIDER_STEPS);
    const say = (text) => {
        slider.setAttribute('aria-valuetext', text || 'no guess yet');
        slider.classList.toggle('unset', text === '');
    };
    slider.setAttribute('aria-label', question);
    number.setAttribute('aria-label', 'times as fast, as a number');
    say('');
    slider.oninput = () => {
        number.value = textOf(valueAt(Number(slider.value)));
        say(timesText(Number(number.value)));
    };
    number.oninput = () => {
        const value = number.valueAsNumber;
        if (value > 0) slider.value = Math.round(Math.log(value / least) / span * SLIDER_STEPS);
        say(value > 0 ? timesText(value) : '');
    };
    const hint = `1 is no difference${least < 1 ? ', below 1 is slower' : ''}`;
    const field = html('fieldset', 'guess', html('legend', '', question),
        html('div', 'scale', html('span', 'end', textOf(least)), slider, html('span', 'end', textOf(most)),
            number, html('span', '', 'times as fast')), html('p', 'hint', hint));
    return { field, read: () => (number.valueAsNumber > 0 ? number.valueAsNumber : null) };
}

const tookText = (a, b) => [nameOf(a.name), ` takes ${a.time}, `, nameOf(b.name), ` takes ${b.time}.`];

/* An answer is { mark, parts }: how good the guess was, and the sentence, of which the first part is about
 * the guess. */
const markOf = (guess, answer) => (guess === null ? 'none' : guess === answer ? 'right' : 'wrong');

/* The guess stands before the answer. */
function guessedText(guess, answer) {
    if (guess === null) return 'You made no guess; the answer is ';
    return guess === answer ? 'Right: ' : `You guessed ${guess}; the answer is `;
}

/* Faster, slower or no difference: a guess that takes one for another is a misconception, however near its number is. */
const sideOf = (ratio) => (ratio > 1.05 ? 1 : ratio < 1 / 1.05 ? -1 : 0);

function markOfRatio(guess, answer) {
    if (guess === null) return 'none';
    const apart = Math.abs(Math.log(guess / answer));
    if (sideOf(guess) !== sideOf(answer)) return 'wrong';
    return apart <= Math.log(1.1) ? 'right' : apart <= Math.min(Math.log(1.5), Math.abs(Math.log(answer)) / 2) ? 'near' : 'wrong';
}

function answerFaster({ runs: names }, guess, drawn) {
    const [a, b] = names.map((name) => runCalled(drawn, name)), answer = timeOf(a) / timeOf(b);
    const slower = answer < 1 ? ', which is slower' : '', mark = markOfRatio(guess, answer);
    const close = { none: '', right: ' Well guessed.', near: ' Not far off.', wrong: ` That is ${guess < answer ? 'more' : 'less'} than you thought.` }[mark];
    const parts = [guess === null ? 'You made no guess; it is ' : `You guessed ${timesText(guess)}; it is `,
        html('b', '', timesText(answer)), `${slower}: `, ...tookText(a, b), close];
    return { mark, parts };
}

function answerEither({ runs: names }, guess, drawn) {
    const [a, b] = names.map((name) => runCalled(drawn, name)), ratio = timeOf(a) / timeOf(b);
    const answer = Math.max(ratio, 1 / ratio) - 1 <= ALIKE ? NEITHER : ratio < 1 ? a.name : b.name;
    return { mark: markOf(guess, answer), parts: [guessedText(guess, answer), html('b', '', answer), ': ', ...tookText(a, b)] };
}

function answerFirst({ kind }, guess, drawn) {
    const sign = kind === 'slowest' ? -1 : 1;
    const [first, second] = [...drawn.runs].sort((a, b) => sign * (timeOf(a) - timeOf(b)));
    return { mark: markOf(guess, first.name), parts: [guessedText(guess, first.name), html('b', '', first.name),
        `. It takes ${first.time}; the next ${kind}, `, nameOf(second.name), `, takes ${second.time}.`] };
}

function answerCause({ runs: [name] }, guess, drawn) {
    return causeAnswer(guess, firstCause(runCalled(drawn, name)), wordsOfFix);
}

/* A cause was offered by what `words` says of its code, and the answer says that before it. */
const causeAnswer = (guess, cause, words) => ({ mark: markOf(guess, cause.code), parts: [
    guessedText(guess && (words?.(guess) ?? guess), words?.(cause.code) ?? cause.code) + (words ? `${words(cause.code)}: ` : ''),
    ...causeSentences(cause)] });
const answerLine = ({ mark, parts }) => html('p', `answer ${mark}`, ...parts);

const runOffer = (name) => [name, nameOf(name)];
const causeOffer = (code) => [code, html('b', '', code), `: ${causeText(code)}`];
const askRun = ({ question }, lesson) => makeChoice(question, lesson.runs.map(({ name }) => runOffer(name)));

/* How a guess of each kind is asked for, and answered. */
const guessKinds = {
    faster: { ask: makeScale, answer: answerFaster },
    either: { ask: ({ question, runs: [a, b] }) =>
        makeChoice(question, [runOffer(a), runOffer(b), [NEITHER, NEITHER]]), answer: answerEither },
    fastest: { ask: askRun, answer: answerFirst },
    slowest: { ask: askRun, answer: answerFirst },
    cause: { ask: ({ question, codes }) => makeChoice(question, codes.map((code) => [code, wordsOfFix(code)])), answer: answerCause },
};

/* --- the two parts of the page that a lesson has: above the picture, and below it --------------- */

let opening = 0; // counts what was opened: what is answered too late draws nothing
const below = Object.assign(html('section', ''), { id: 'lesson-after', hidden: true });

/* Opens `mode` with `content`, in place of the controls; without the picture, until there is one. */
function openPart(mode, title, ...content) {
    opening++;
    warn('');
    document.body.dataset.part = mode;
    document.body.classList.remove('revealed');
    document.title = `pipeline lab: ${title}`;
    const top = heading('h1', title);
    fill(element('lesson'), [top, ...content]);
    element('lesson').hidden = false;
    below.hidden = true;
    fill(below, []);
    element('hint').hidden = true;
    scrollTo(0, 0);
    top.focus({ preventScroll: true });
}

function closePart() {
    opening++;
    if (document.body.dataset.part) element('title').focus({ preventScroll: true });
    delete document.body.dataset.part;
    document.body.classList.remove('revealed');
    element('lesson').hidden = below.hidden = true;
}

/* Shows the picture, and `content` below it. */
function openPicture(drawn, ...content) {
    document.body.classList.add('revealed');
    answer = null; // the simulator's is not what is drawn
    show(drawn);
    fill(below, content);
    below.hidden = false;
}

/* Simulates `ini`; null, and the reason on the page, where that can't be, or the reader went on. */
async function simulateFor(part, ini) {
    const { drawn, refusal } = await inTurn('Simulating', () => tried(ini)) ?? {};
    if (part !== opening) return null;
    if (refusal) warnOf(refusal);
    return drawn ?? null;
}

const warnOf = (refusal) => warn(refusal === STOPPED ? 'The run was stopped.' : ended(refusal));

const goOn = (...links) => html('p', 'go-on', ...links.filter(Boolean));

/* --- a lesson ----------------------------------------------------------------------------------- */

/* The meaning of a setting, less what is for a terminal, and auto, which no lesson has; and the kernels or
 * mistakes that the lesson's runs have. */
function meaningOf(lesson, name) {
    const values = new Set(lesson.runs.flatMap(({ settings }) => (settings[name] ?? '').split(',')));
    const chosen = ({ kernel: catalogue.kernels, mistake: catalogue.mistakes }[name] ?? []).filter((one) => values.has(one.name));
    const help = optionOf(name).help.replace(/:? *`[^`]*`/g, '').replace(/; auto:.*/, '').replace(/--(?=\w)/g, '');
    return [sentence(help), ...chosen.map((one) => `${one.name}: ${one.summary}`)].map(ended).join(' ');
}

/* The runs with the settings that they differ in, and what is the same in all. */
function runsTable(lesson) {
    const names = [...new Set(lesson.runs.flatMap(({ settings }) => Object.keys(settings)))];
    const valueIn = (run, name) => run.settings[name] ?? optionOf(name)?.default;
    const textOf = (run, wanted) => settingsText(Object.fromEntries(wanted.map((name) => [name, valueIn(run, name)])));
    const differs = names.filter((name) => lesson.runs.some((run) => valueIn(run, name) !== valueIn(lesson.runs[0], name)));
    const same = textOf(lesson.runs[0], names.filter((name) => !differs.includes(name)));
    return html('div', 'lesson-runs',
        html('dl', '', ...lesson.runs.flatMap((run) => [html('dt', '', nameOf(run.name)), html('dd', '', textOf(run, differs))])),
        html('p', 'hint', same && `In all of them: ${same}.`),
        html('details', '', html('summary', '', 'What these settings mean'), html('dl', '', ...names.filter(optionOf)
            .flatMap((name) => [html('dt', '', name), html('dd', '', meaningOf(lesson, name))]))));
}

function openLesson(lesson) {
    const asked = lesson.guesses.map((guess) => guessKinds[guess.kind].ask(guess, lesson));
    const reveal = Object.assign(html('button', 'reveal', 'Reveal'), { type: 'submit' });
    const form = html('form', 'guesses', ...asked.map(({ field }) => field), html('p', '', reveal,
        html('span', 'hint', ' It\'s fine to guess wrong, or to skip a question; what helps is to decide before you look.')));
    openPart('lesson', `${numberOf(lesson)}. ${lesson.title}`,
        html('div', 'asked', html('p', 'question', lesson.question), runsTable(lesson)), form);
    const part = opening;
    form.onsubmit = async (event) => {
        event.preventDefault();
        reveal.disabled = true;
        const drawn = await simulateFor(part, lesson.ini);
        if (drawn) return revealLesson(lesson, drawn, form, asked);
        reveal.disabled = false;
        return undefined;
    };
}

function revealLesson(lesson, drawn, form, asked) {
    addProgress(lesson.name);
    lesson.guesses.forEach((guess, i) => {
        const { field, read } = asked[i], guessed = read();
        field.disabled = true;
        field.append(answerLine(guessKinds[guess.kind].answer(guess, guessed, drawn)));
    });
    form.lastChild.remove();
    const top = heading('h2', lesson.guesses.length > 1 ? 'The answers' : 'The answer');
    form.prepend(top);
    const question = element('lesson').querySelector('.asked'); // it makes way, so that answers and picture are seen at once
    const folded = html('details', '', html('summary', '', 'The question and its runs'));
    question.before(folded);
    folded.append(question);
    openPicture(drawn, html('h2', '', 'Why'), ...lesson.explanation.map((text) => html('p', '', text)),
        ...causesOfRuns(drawn), codeOf(lesson.ini), html('p', 'remember', html('b', '', 'Remember: '), lesson.message), ...wayOn(lesson));
    scrollTo(0, 0);
    top.focus({ preventScroll: true });
}

/* Each run has the cause that cost it the most, and the others. */
function causesOfRuns(drawn) {
    const judged = drawn.runs.filter(firstCause);
    const others = (run) => run.verdicts.filter((verdict) => verdict.named && verdict !== firstCause(run)).map(({ code, cost }) => `${code} ${cost}`);
    if (!judged.length) return [];
    return [html('details', '', html('summary', '', 'What cost each run the most'), html('dl', '', ...judged.flatMap((run) =>
        [html('dt', '', nameOf(run.name)), html('dd', '', ...causeSentences(firstCause(run)),
            others(run).length ? ` Then: ${others(run).join(', ')}.` : '')])))];
}

function wayOn(lesson) {
    const place = catalogue.lessons.indexOf(lesson), at = (by) => catalogue.lessons[place + by];
    const to = (other, words) => other && link(`#lesson=${other.name}`, `${words}: ${numberOf(other)}. ${other.title}`);
    return [html('p', 'play', 'Play with it: ', ...lesson.runs.flatMap(({ name, settings }) => [playLink(settings, name), ' '])),
        goOn(to(at(-1), 'Before'), to(at(1), 'Next') ?? link('#mystery=1', 'Next: a mystery'), link('#lessons', 'All lessons'))];
}

/* --- the list of lessons ------------------------------------------------------------------------ */

function openLessons() {
    const all = catalogue.lessons, done = all.filter(({ name }) => lessonsDone.has(name)), next = all.find(({ name }) => !lessonsDone.has(name));
    const list = html('ol', 'path', ...all.map((lesson) => html('li', lessonsDone.has(lesson.name) ? 'done' : '',
        link(`#lesson=${lesson.name}`, lesson.title), html('span', 'hint', ` ${lesson.question}${lessonsDone.has(lesson.name) ? ' (done)' : ''}`))));
    const anew = Object.assign(html('button', '', 'Start over'), { type: 'button', hidden: !done.length });
    anew.onclick = () => {
        lessonsDone.clear();
        writeProgress();
        openLessons();
    };
    openPart('lessons', 'Lessons',
        html('p', '', 'Each asks first: you guess, the simulator answers, and the picture shows why. ',
            `Done: ${done.length} of ${all.length}. `),
        goOn(next && link(`#lesson=${next.name}`, `${done.length ? 'Go on' : 'Begin'}: ${numberOf(next)}. ${next.title}`),
            link('#mystery=1', 'Mysteries: find the hidden cause'), link('#answers', 'Answers for the teacher')),
        html('progress', ''), list, anew);
    Object.assign(element('lesson').querySelector('progress'), { max: all.length, value: done.length }).setAttribute('aria-label', 'Lessons done');
}

/* --- mysteries ---------------------------------------------------------------------------------- */

const DRAWS_MOST = 60; // of settings, until one has a clear cause
const COSTS_LEAST = 0.1, SECOND_MOST = 0.5; // of the run's time; of what the first cause costs

/* Bad settings that make a cause, beside the mistakes that there are. */
const BAD_SETTINGS = [
    { streams: '1' }, { ways: '1' }, { ways: '2' }, { tiles: '2' }, { tiles: '1024', elements: '4M' }, { memory: 'pageable' },
    { layout: 'stage', streams: '1' },
    { device: 'sim:h200', connections: '1', kernel: 'scale,scale,scale', intensity: '65536', elements: '512k', tiles: '8', streams: '8' },
    { device: 'sim:h200', connections: '1', kernel: 'scale,scale,scale', intensity: '30000', elements: '1M', tiles: '6', streams: '8' },
    { device: 'sim:c1060', order: 'depth', tiles: '4' }, { device: 'sim:c2050', order: 'breadth', tiles: '8' },
];

/* A generator of whole numbers, the same ones for the same seed. */
function makeDice(seed) {
    let x = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
    const roll = () => {
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
        return x >>> 0;
    };
    for (let i = 0; i < 8; i++) roll();
    const one = (list) => list[roll() % list.length];
    const shuffled = (list) => list.map((item) => [roll(), item]).sort(([a], [b]) => a - b).map(([, item]) => item);
    return { one, shuffled };
}

/* Settings with one thing wrong with them, and the cause that should be found: null is any. */
function drawSettings(dice) {
    const settings = { device: `sim:${dice.one(['h200', 'h200', 'h100', 'a100', 'v100', 'k20c'])}`,
        elements: dice.one(['8M', '16M', '32M', '64M']), tiles: dice.one(['8', '16', '32']),
        streams: dice.one(['3', '4', '6', '8']), intensity: dice.one(['200', '500', '1000', '2000', '3000']) };
    const mistakes = catalogue.mistakes.filter(({ name }) => name !== 'none').map(({ name, verdict }) => [{ mistake: name }, verdict ?? name]);
    const [wrong, cause] = dice.one([...mistakes, ...BAD_SETTINGS.map((bad) => [bad, null])]);
    return { settings: { ...settings, ...wrong }, cause };
}

const isAnswer = ({ code }) => !['short-run', 'unknown', 'rest'].includes(code) && !isBound({ code });

/* The run's cause where it is clear: it costs enough, and no other costs half as much. */
function clearCause(run, cause) {
    const [first, second] = (run.verdicts ?? []).filter(({ named }) => named);
    if (!first || !isAnswer(first) || (cause !== null && first.code !== cause)) return null;
    const clear = shareOf(run, first) >= COSTS_LEAST && (!second || Number(second.ns) <= SECOND_MOST * Number(first.ns));
    return clear ? first : null;
}

/* The same picture, less all that says why. */
function withoutCauses(drawn) {
    const runs = drawn.runs.map((run) => ({ ...run, verdicts: [], gaps: [], settings: [], no_verdict: undefined, best: undefined,
        spans: run.spans.map((span) => span.with(SPAN_TEXT, '')) }));
    return { ...drawn, message: '', runs };
}

const oneRun = (name, settings) => [`[${name}]`, ...Object.entries(settings).map(([key, value]) => `${key} = ${value}`), ''].join('\n');

/* Draws settings until their run has a clear cause: null where none has. Settings that are refused are drawn
 * again, too; any other failure, such as a lack of memory, ends it. */
async function findMystery(seed, part) {
    const dice = makeDice(seed), name = `mystery ${seed}`;
    for (let i = 0; i < DRAWS_MOST && part === opening; i++) {
        const { settings, cause } = drawSettings(dice);
        const { drawn, refusal, refused } = await inTurn('Drawing a mystery', () => tried(oneRun(name, settings))) ?? {};
        if (refusal && !refused) return { refusal };
        const found = drawn && clearCause(drawn.runs[0], cause);
        if (found) return { drawn, settings, cause: found, offers: drawOffers(dice, drawn.runs[0], found.code) };
    }
    return null;
}

/* The cause, and four that this run has nothing of. */
function drawOffers(dice, run, code) {
    const there = new Set((run.verdicts ?? []).map((verdict) => verdict.code));
    const others = ['one-stream', 'few-streams', 'few-tiles', 'small-tiles', 'needless-wait', 'one-queue',
        ...catalogue.mistakes.map(({ name, verdict }) => verdict ?? name)];
    const wrong = [...new Set(others)].filter((one) => !there.has(one) && causeText(one) !== '');
    return dice.shuffled([code, ...dice.shuffled(wrong).slice(0, 4)]);
}

async function openMystery(seed) {
    const status = Object.assign(html('p', 'hint', 'Drawing a mystery ...'), { role: 'status' });
    openPart('mystery', `Mystery ${seed}`,
        html('p', 'question', 'One thing is wrong with this run. Which cause costs it the most time?'), status);
    const part = opening, mystery = await findMystery(seed, part);
    if (part !== opening) return;
    if (mystery?.refusal) warnOf(mystery.refusal);
    if (!mystery?.drawn) {
        status.textContent = mystery ? 'No mystery was drawn.' : 'No settings with a clear cause were found.';
        element('lesson').append(goOn(link(`#mystery=${seed + 1}`, 'Next mystery')));
        return;
    }
    status.textContent = 'Look at the picture: point at a box or at a stretch between boxes, step through it, and show it by streams. ' +
        'Below it are five causes.';
    const asked = makeChoice('What costs this run the most time?', mystery.offers.map(causeOffer));
    const form = html('form', 'guesses', asked.field, html('p', '', Object.assign(html('button', 'reveal', 'Reveal'), { type: 'submit' })));
    form.onsubmit = (event) => {
        event.preventDefault();
        revealMystery(seed, mystery, asked);
    };
    openPicture(withoutCauses(mystery.drawn), form);
}

function revealMystery(seed, { drawn, settings, cause }, asked) {
    const top = heading('h2', 'The cause');
    openPicture(drawn, top, answerLine(causeAnswer(asked.read(), cause)),
        html('p', '', `The settings were: ${settingsText(settings)}. `, playLink(settings, 'Play with it')),
        goOn(link(`#mystery=${seed + 1}`, 'Next mystery'), link('#lessons', 'All lessons')));
    top.focus();
}

/* --- answers for the teacher -------------------------------------------------------------------- */

async function openAnswers() {
    const status = Object.assign(html('p', 'hint'), { role: 'status' }), list = html('div', 'answers');
    const print = Object.assign(html('button', '', 'Print'), { type: 'button', hidden: true, onclick: () => window.print() });
    openPart('answers', 'Answers for the teacher',
        html('p', '', 'Every lesson with its question, what students guess at, the answers and the sentence to remember, as the simulator of this page gives them.'),
        status, print, list);
    const part = opening;
    for (const lesson of catalogue.lessons) {
        status.textContent = `Simulating lesson ${numberOf(lesson)} of ${catalogue.lessons.length} ...`;
        const drawn = await simulateFor(part, lesson.ini);
        if (part !== opening) return;
        if (!drawn) {
            status.textContent = `${list.childElementCount} of ${catalogue.lessons.length} lessons: lesson ${numberOf(lesson)} was not simulated.`;
            return;
        }
        list.append(answersOf(lesson, drawn));
    }
    status.textContent = `All ${catalogue.lessons.length} lessons, simulated by pipeline ${catalogue.version}.`;
    print.hidden = false;
}

function answersOf(lesson, drawn) {
    const answers = lesson.guesses.flatMap((guess) => [html('dt', '', guess.question), html('dd', '', ...plainAnswer(guess, drawn))]);
    return html('section', '', html('h2', '', link(`#lesson=${lesson.name}`, `${numberOf(lesson)}. ${lesson.title}`)),
        html('p', 'question', lesson.question), html('dl', '', ...answers),
        html('p', 'remember', html('b', '', 'Remember: '), lesson.message));
}

/* The answer without a guess before it. */
function plainAnswer(guess, drawn) {
    return guessKinds[guess.kind].answer(guess, null, drawn).parts.slice(1);
}

/* --- addresses ---------------------------------------------------------------------------------- */

/* Opens what the address asks for, and says whether it asked for any of this. */
function readPart(params) {
    const wanted = params.get('lesson'), number = params.get('mystery') ?? (params.has('mysteries') ? '1' : null), seed = Number(number), isSeed = Number.isSafeInteger(seed) && seed > 0;
    const lesson = catalogue.lessons.find((one) => one.name === wanted || numberOf(one) === Number(wanted || NaN));
    if (lesson) openLesson(lesson);
    else if (number !== null) openMystery(isSeed ? seed : 1);
    else if (params.has('answers')) openAnswers();
    else if (params.has('lessons') || wanted !== null) openLessons();
    else closePart();
    if (wanted !== null && !lesson) warn(`There is no lesson ${quoted(wanted)}: these are all of them.`);
    if (document.body.dataset.part === 'mystery' && !isSeed) warn(`There is no mystery ${quoted(number)}: this is the first.`);
    markPart();
    return document.body.dataset.part !== undefined;
}

/* Which link of the page's head is the one that is open. */
function markPart() {
    for (const one of element('lessons').children) {
        const own = one.dataset.parts.split(' ').includes(document.body.dataset.part ?? 'play');
        if (own) one.setAttribute('aria-current', 'page');
        else one.removeAttribute('aria-current');
    }
}

function startLessons() {
    const to = (address, text, parts) => {
        const made = link(address, text);
        made.dataset.parts = parts;
        return made;
    };
    fill(element('lessons'), [to('#', 'Simulator', 'play'), to('#lessons', 'Lessons', 'lesson lessons answers'), to('#exercises', 'Exercises', 'exercise exercises'),
        to('#mystery=1', 'Mysteries', 'mystery')]);
    element('lessons').firstChild.onclick = ({ target }) => {
        target.href = addressOf(); // the state that was left
        if (answer?.file && !taken) setState(state);
    };
    element('plot').after(below);
    below.setAttribute('aria-label', 'What it shows');
    readProgress();
    addressReaders.push(readPart);
}

starters.push(startLessons);
