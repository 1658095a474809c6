/* lab.js - the lab page: controls for every setting, and what the simulator answers to them.
 *
 * In order: the state, the address, controls, simulating, what is shown of an answer, the code, the pinned run,
 * files, the start. The simulator is `engine` (lab_engine.js), the picture is drawn by show()
 * (page.js). Settings are texts, as the command takes them; the command's own checks judge them. */

const FIRST_MACHINE = 'h200';
const PATIENCE_MS = 300; // what takes longer says so, and makes way for what is asked next
const ADDRESS_MS = 250; // after a control was moved; browsers refuse an address that changes too often
const STOPPED = 'stopped'; // the refusal of what the reader, or the next question, has ended
const COPIED_MS = 2000;
const FILE_MOST = 200e6; // bytes
const HINT = { streams: '1' };

/* Options by group; those that no group names are in the last one. */
const GROUPS = [
    ['Work', ['elements', 'tiles', 'kernel', 'intensity']],
    ['Streams', ['streams', 'ways', 'order', 'layout', 'issue', 'priorities']],
    ['Memory', ['memory']],
    ['Machine', ['machine', 'connections']],
    ['Mistakes', ['mistake']],
    ['More', []],
];

/* The ends of sliders, where the whole range has no place on one. The field takes what is beyond. */
const SLIDES = { elements: [2 ** 16, 2 ** 30], tiles: [1, 1024], streams: [1, 64] };
const SLIDE_MOST = 2 ** 16;

/* --- the state ---------------------------------------------------------------------------------- */

let catalogue = null; // what there is to choose from
let state = { machine: FIRST_MACHINE, settings: {} }; // settings: those that differ from the default
let pinned = null; // the state that stands before it, or null

const optionOf = (name) => catalogue.options.find((option) => option.name === name);

/* "64M" as a number; NaN where it is none. */
function countOf(text) {
    const [, digits, suffix] = /^(\d+(?:\.\d+)?)([kMGT]?)$/i.exec(text) ?? [];
    return digits === undefined ? NaN : Number(digits) * 1024 ** ' kmgt'.indexOf((suffix || ' ').toLowerCase());
}

/* A count as it is easiest to read: "64M" where the option has suffixes. */
function shorten(option, text) {
    const power = option.suffixes ? [4, 3, 2].find((one) => Number(text) >= 1024 ** one && Number(text) % 1024 ** one === 0) : 0;
    return power ? `${Number(text) / 1024 ** power}${' kMGT'[power]}` : `${text}`;
}

const WORDS = { yes: ['yes', 'true', 'on', '1'], no: ['no', 'false', 'off', '0'] }; // of a flag

/* A value on one line, without blanks at its ends and around its commas, where the command skips
 * them, too; a flag's is yes or no. What is no value stays what it is: the command refuses it. */
function tidy(option, value) {
    const text = value.replace(/[\u0000-\u001f\u007f]/g, ' ').trim();
    if (option.type === 'flag') return Object.keys(WORDS).find((word) => WORDS[word].includes(text)) ?? text;
    return ['chain', 'priorities'].includes(option.type) ? text.replace(/ *, */g, ',') : text;
}

const isDefault = (option, value) => value === '' || tidy(option, value) === tidy(option, option.default) ||
    (option.type === 'number' && countOf(value) === countOf(option.default));

/* `given`, tidy and less what is as the default. */
function settingsOf(given) {
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, tidy(optionOf(name), value)])
        .filter(([name, value]) => !isDefault(optionOf(name), value)));
}

/* The text of a config file with these runs. A ';' behind a blank begins a comment there: no value
 * has one, and without the blank the command sees it, and refuses it. */
function iniOf(list) {
    const line = (key, value) => `${key} = ${value}`.replace(/\s+;/g, ';');
    return list.map(({ name, machine, settings }) => [`[${name}]`, line('device', `sim:${machine}`),
        ...Object.entries(settings).map(([key, value]) => line(key, value)), ''].join('\n')).join('\n');
}

/* `word` as a shell takes it. */
const shellWord = (word) => (/^[\w.,:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/* The command line that gives `run`, for a shell. */
function commandOf({ machine, settings }) {
    const words = Object.entries(settings).map(([name, value]) =>
        (optionOf(name).type === 'flag' && value === 'yes' ? `--${name}` : `--${name}=${value}`));
    return ['pipeline', '-d', `sim:${machine}`, ...words].map(shellWord).join(' ');
}

/* Makes `next` what is simulated and drawn; `notice` is a line to go with it, and the address follows
 * after `delay` ms. Resolves when it is drawn, or when something else was asked instead. */
function setState(next, notice = '', delay = 0) {
    state = { machine: next.machine, settings: settingsOf(next.settings) };
    lockSettings(false);
    writeControls();
    const drawn = simulate(notice);
    writeAddress(delay);
    return drawn;
}

function changeSetting(name, value) {
    const next = name === 'machine' ? { ...state, machine: value } : { ...state, settings: { ...state.settings, [name]: value } };
    return setState(next, '', ADDRESS_MS);
}

/* The state with a fix, such as "--streams=4 --callbacks", applied. */
function applied(command, { machine, settings }) {
    const next = { machine, settings: { ...settings } };
    for (const [, name, value] of command.matchAll(/--([a-z-]+)(?:=(\S+))?/g)) {
        if (name === 'device') next.machine = value.replace(/^sim:/, '');
        else next.settings[name] = value ?? 'yes';
    }
    return next;
}

/* --- the address -------------------------------------------------------------------------------- */

/* Functions that take an address of their own, such as a lesson's: each gets its URLSearchParams, and
 * returns whether it is one. */
const addressReaders = [];
let taken = false; // the address was one of those
let addressTimer = 0;

const plain = ({ machine, settings }) => new URLSearchParams({ machine, ...settings }).toString();

const addressOf = () => `#${plain(state)}${pinned ? `&pin=${encodeURIComponent(plain(pinned))}` : ''}`;

/* Puts the state into the address; a browser that refuses it is asked again later. */
function writeAddress(delay = 0) {
    clearTimeout(addressTimer);
    if (delay > 0) {
        addressTimer = setTimeout(writeAddress, delay);
        return;
    }
    try {
        if (taken) history.pushState(null, '', addressOf()); // the way back to a lesson
        else if (location.hash !== addressOf()) history.replaceState(null, '', addressOf());
        taken = false;
    } catch {
        writeAddress(4 * ADDRESS_MS);
    }
}

/* The address of what is open: it is right also where the browser's is not yet. */
const linkOf = () => (taken ? location.href : location.href.replace(/#.*/s, '') + addressOf());

/* A state of an address, and the keys in it that are no settings. */
function stateOf(params) {
    const given = { machine: tidy(machineOption(), params.get('machine') ?? defaultMachine()), settings: {} }, unknown = [];
    for (const [name, value] of params) {
        if (optionOf(name)) given.settings[name] = value;
        else if (name !== 'machine' && name !== 'pin') unknown.push(name);
    }
    given.settings = settingsOf(given.settings);
    return { given, unknown };
}

/* Returns true if the address is one of those that have a reader. */
function isTaken(params) {
    taken = addressReaders.some((read) => read(params));
    return taken;
}

/* A text in an address may be of any length, and a line about it may not. */
const quoted = (text) => `"${text.slice(0, 40)}${text.length > 40 ? '...' : ''}"`;

/* The line about keys of an address that are no settings. */
function leftOut(names) {
    const lines = names.slice(0, 3).map((name) => `The address has ${quoted(name)}, which is no setting: it is left out.`);
    return [...lines, ...(names.length > 3 ? [`So are ${names.length - 3} more.`] : [])].join(' ');
}

function readAddress() {
    const params = new URLSearchParams(location.hash.slice(1));
    clearTimeout(addressTimer);
    inTurn('', () => {}); // in place of what was asked before
    if (isTaken(params)) return undefined;
    const { given, unknown } = stateOf(params);
    const before = params.has('pin') ? stateOf(new URLSearchParams(params.get('pin'))) : null;
    pinned = before && before.given;
    unknown.push(...before?.unknown ?? []);
    return setState(given, leftOut(unknown));
}

/* --- controls ----------------------------------------------------------------------------------- */

const controls = new Map(); // by name: { row, write(text), field }

const defaultMachine = () => (catalogue.machines.some(({ name }) => name === FIRST_MACHINE) ? FIRST_MACHINE : catalogue.machines[0].name);

/* The values of a slider: all numbers up to 8, then 12, 16, 24, 32 and so on. */
function ladder(least, most) {
    const values = [];
    for (let value = least; value <= Math.min(most, 8); value++) values.push(value);
    for (let power = 8; power <= most; power *= 2) {
        if (power > 8 && power >= least) values.push(power);
        if (power * 1.5 >= least && power * 1.5 <= most) values.push(power * 1.5);
    }
    return values;
}

function slideValues(option) {
    if (option.type === 'share') return Array.from({ length: 21 }, (_, i) => `${Number((i / 20).toFixed(2))}`);
    const [least, most] = SLIDES[option.name] ?? [option.least, Math.min(option.most, SLIDE_MOST)];
    return ladder(least, most).map((value) => shorten(option, value));
}

const input = (type, attributes) => Object.assign(document.createElement('input'), { type, ...attributes });

function select(choices, value) {
    const made = html('select', '');
    for (const [name, title] of choices) made.append(Object.assign(new Option(name, name), { title: title ?? '' }));
    pick(made, value);
    return made;
}

/* Chooses `value`, which an address may have made up: then it is one more choice, that the command refuses. */
function pick(menu, value) {
    if (![...menu.options].some((choice) => choice.value === value)) menu.add(new Option(value, value));
    menu.value = value;
}

/* A field, and a slider beside it for what is often chosen. */
function numberControl(option, change) {
    const values = slideValues(option);
    const field = input('text', { inputMode: option.automatic || option.suffixes || option.type === 'share' ? 'text' : 'numeric', size: 6,
        spellcheck: false, placeholder: option.absent ?? '' });
    const slider = input('range', { min: 0, max: values.length - 1, step: 1 });
    slider.setAttribute('aria-label', `${option.name}, slider`);
    const place = (text) => {
        const wanted = countOf(text), beyond = values.findIndex((value) => countOf(value) > wanted);
        slider.value = Number.isNaN(wanted) ? 0 : beyond < 0 ? values.length - 1 : Math.max(beyond - 1, 0);
        slider.classList.toggle('away', Number.isNaN(wanted)); // auto
        slider.setAttribute('aria-valuetext', text || option.absent || '');
    };
    slider.oninput = () => change(values[slider.value]);
    field.oninput = () => change(field.value.trim());
    field.onblur = () => write(valueOf(option));
    field.onkeydown = (event) => {
        const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        slider.value = Number(slider.value) + by;
        slider.oninput();
    };
    /* A value stays as it is typed while that goes on, also where nothing is there yet. */
    const write = (text) => {
        const typed = field.value.trim(), same = typed === '' ? isDefault(option, text) : typed === text || countOf(typed) === countOf(text);
        if (document.activeElement !== field || !same) field.value = shorten(option, text);
        place(text);
    };
    return { field, parts: [slider, field], write };
}

function choiceControl(option, change) {
    const words = new Map(option.name === 'mistake' ? catalogue.mistakes.map(({ name, summary }) => [name, summary]) : []);
    const field = select(option.choices.map((name) => [name, words.get(name)]), option.default);
    field.onchange = () => change(field.value);
    return { field, parts: [field], write: (text) => pick(field, text) };
}

function flagControl(option, change) {
    const field = input('checkbox', {});
    field.onchange = () => change(field.checked ? 'yes' : '');
    return { field, parts: [field], write: (text) => { field.checked = text === 'yes'; } };
}

/* Kernels one after another: a choice for each, and one for the next. */
function chainControl(option, change) {
    const list = html('span', 'chain');
    const kernels = catalogue.kernels.map(({ name, summary }) => [name, summary]);
    list.setAttribute('role', 'group');
    const write = (text) => {
        const names = text.split(','), old = [...list.children];
        if (old.length === names.length + 1 && names.every((name, i) => old[i].value === name)) return;
        const focus = old.indexOf(document.activeElement);
        const menus = [...names, ''].map((name, i) => {
            const first = i === names.length ? [['', '']] : names.length > 1 ? [['', 'not this kernel']] : [];
            const menu = select([...first, ...kernels], name);
            if (first.length) menu.options[0].text = i === names.length ? '+ then ...' : '(none)';
            menu.setAttribute('aria-label', i === names.length ? 'then kernel' : `kernel ${i + 1}`);
            menu.onchange = () => change([...list.children].map((one) => one.value).filter(Boolean).join(','));
            return menu;
        });
        fill(list, menus);
        if (focus >= 0) list.children[Math.min(focus, menus.length - 1)].focus();
    };
    return { field: list, parts: [list], write };
}

function textControl(option, change) {
    const field = input('text', { placeholder: option.placeholder ?? '', spellcheck: false });
    field.oninput = () => change(field.value.trim());
    return { field, parts: [field], write: (text) => {
        if (text !== field.value.trim()) field.value = text;
    } };
}

const makers = { number: numberControl, share: numberControl, choice: choiceControl, mistake: choiceControl, flag: flagControl, chain: chainControl };

/* An option's row: its name, the control, the way back to the default, and room for a refusal. */
function makeControl(option) {
    const control = (makers[option.type] ?? textControl)(option, (value) => changeSetting(option.name, value));
    const id = `set-${option.name}`, words = [option.help, option.with].filter(Boolean).join('. ');
    const label = html('label', '', option.name), about = html('span', '', words), refusal = html('p', 'refusal');
    const back = html('button', 'back', '\u21ba');
    control.field.id = id;
    about.id = `${id}-help`;
    about.hidden = true;
    refusal.id = `${id}-refusal`;
    refusal.hidden = true;
    label.htmlFor = id;
    if (control.field.getAttribute('role') === 'group') control.field.setAttribute('aria-label', option.name);
    control.field.setAttribute('aria-describedby', `${about.id} ${refusal.id}`);
    back.type = 'button';
    back.title = `back to ${shorten(option, option.default || option.absent || 'no')}`;
    back.setAttribute('aria-label', `${option.name}: ${back.title}`);
    back.onclick = () => {
        changeSetting(option.name, '');
        control.field.focus();
    };
    control.row = html('div', `setting of-${option.type}`, label, html('span', 'parts', ...control.parts), back, about, refusal);
    Object.assign(control, { option, words, refusal, back });
    controls.set(option.name, control);
    return control.row;
}

function makeControls() {
    const options = [machineOption(), ...catalogue.options], grouped = new Set(GROUPS.flatMap(([, names]) => names));
    for (const [title, names] of GROUPS) {
        const members = title === 'More' ? options.filter(({ name }) => !grouped.has(name))
            : names.map((name) => options.find((option) => option.name === name)).filter(Boolean);
        const rows = members.map(makeControl);
        if (!rows.length) continue;
        const legend = html(title === 'More' ? 'summary' : 'legend', '', title);
        element('controls').append(html(title === 'More' ? 'details' : 'fieldset', '', legend, ...rows));
    }
    const preset = (text, ways) => {
        const button = html('button', '', text);
        button.type = 'button';
        button.dataset.ways = ways ?? '';
        button.onclick = () => setState(ways ? presetOf(ways) : { machine: defaultMachine(), settings: {} });
        return button;
    };
    fill(element('presets'), [preset('Serial', '1'), preset('2-way', '2'), preset('3-way', '3'), preset('4-way', '4'), preset('Reset')]);
    element('presets').lastChild.title = 'all settings back to their defaults';
}

/* The machine is the device of the command, a simulated one. */
function machineOption() {
    return { name: 'machine', type: 'choice', default: defaultMachine(), choices: catalogue.machines.flatMap(({ name, devices }) =>
        Array.from({ length: devices }, (_, more) => (more ? `${name}*${more + 1}` : name))),
        help: 'the GPU and its host that are simulated: -d sim:NAME; *N: N such GPUs' };
}

/* The same work on the same machine, with so many things at once and nothing else changed. */
function presetOf(ways) {
    const kept = GROUPS[0][1].filter((name) => name in state.settings);
    return { machine: state.machine, settings: { ...Object.fromEntries(kept.map((name) => [name, state.settings[name]])), ways } };
}

const isAlone = ({ name }) => name === 'streams' && state.settings.ways === '1';
const valueOf = (option) => (option.name === 'machine' ? state.machine : state.settings[option.name] ?? (isAlone(option) ? '1' : option.default));

function writeControls() {
    for (const control of controls.values()) {
        const value = valueOf(control.option), changed = control.option.name in state.settings || (control.option.name === 'machine' && !isDefault(control.option, value));
        control.write(value);
        control.row.classList.toggle('changed', changed);
        const alone = isAlone(control.option) && !changed; // the control is locked, and its title says why
        for (const part of control.parts) part.disabled = alone;
        control.row.title = alone ? 'ways=1 is serial: it uses one stream' : control.words;
        control.back.hidden = !changed;
    }
    const more = element('controls').querySelector('details');
    const changed = more.querySelectorAll('.changed').length;
    more.firstChild.textContent = `More${changed ? ` (${changed} changed)` : ''}`;
    for (const button of element('presets').children) {
        button.setAttribute('aria-pressed', String(button.dataset.ways !== '' && plain(presetOf(button.dataset.ways)) === plain({
            machine: state.machine, settings: { ...state.settings, ways: state.settings.ways ?? optionOf('ways').default } })));
    }
    element('presets').lastChild.removeAttribute('aria-pressed');
}

/* Says below the controls what the one does that has the focus or is pointed at. */
function showHelp(target) {
    const control = [...controls.values()].find(({ row }) => row.contains(target));
    if (!control) return;
    const { option, row } = control, chosen = [...(option.name === 'machine' ? catalogue.machines : []),
        ...(option.name === 'mistake' ? catalogue.mistakes : [])].find(({ name }) => name === valueOf(option));
    fill(element('help'), [html('b', '', `${option.name}: `), `${row.title}${chosen ? `. ${chosen.name}: ${chosen.summary}` : ''}`]);
}

/* --- asking the simulator ----------------------------------------------------------------------- */

/* Whatever asks the simulator does so in turn: { what, deed, resolve, reject }. */
let wanted = null; // what comes next
let underway = null; // and since when it has `begun`
let answer = null; // what is drawn, as present() was told
let simulated = null; // and of the simulator's answers the last: what present() was given

/* Does `deed` once what is under way has ended; `what` the page says where it takes long. Only the
 * latest counts: it takes the place of one that waits, and ends one that takes long. Resolves with
 * what the deed gives, or with nothing where another took its place. */
function inTurn(what, deed) {
    wanted?.resolve();
    return new Promise((resolve, reject) => {
        wanted = { what, deed, resolve, reject };
        if (!underway) work();
        else if (performance.now() - underway.begun > PATIENCE_MS) engine.stop();
    });
}

async function work() {
    while (wanted) {
        underway = Object.assign(wanted, { begun: performance.now() });
        wanted = null;
        const timer = setTimeout(loseTime, PATIENCE_MS, underway.what);
        try {
            underway.resolve(await underway.deed());
        } catch (error) {
            underway.reject(error);
        } finally {
            clearTimeout(timer);
            sayBusy('');
            underway = null;
        }
    }
}

/* A question that takes long makes way for one that waits; where none does, the page says so. */
function loseTime(what) {
    if (wanted) engine.stop();
    else sayBusy(what);
}

/* Says what takes so long, beside a button that ends it. */
function sayBusy(what) {
    element('busy-what').textContent = what && `${what} ... `;
    element('busy-text').hidden = !what;
}

/* The simulator's answer to a config: { drawn }, or { refusal } in one line. */
const tried = (ini) => engine.run(ini).then((drawn) => ({ drawn }), ({ message, refused }) => ({ refusal: message, refused }));

const runsOf = (one) => [...(one.pinned ? [{ name: 'before', ...one.pinned }] : []), { name: 'now', ...one.state }];

function simulate(notice) {
    const asked = { state, pinned, notice };
    return inTurn('Simulating', () => simulateRuns(asked));
}

async function simulateRuns(asked) {
    const list = runsOf(asked), ini = iniOf(list), { drawn, refusal } = await tried(ini);
    if (taken || (wanted && !drawn)) return undefined; // what came since says more
    if (!drawn && refusal !== STOPPED && asked.pinned && asked.pinned !== answer?.pinned) return leavePinOut(asked, refusal);
    if (!drawn) return refuse(asked, refusal);
    present(drawn, { states: list, pinned: asked.pinned, command: commandOf(asked.state), ini });
    return warn(asked.notice);
}

/* A pinned run of an address may be what can't be: then the other one is drawn without it. */
async function leavePinOut(asked, message) {
    const list = runsOf({ state: asked.state }), ini = iniOf(list), { drawn, refusal } = await tried(ini);
    if (taken || wanted) return undefined;
    if (!drawn) return refuse(asked, refusal);
    pinned = null;
    present(drawn, { states: list, command: commandOf(asked.state), ini });
    warn(`${asked.notice} The run that was pinned as "before" can't be simulated: ${ended(message)}`.trim());
    return writeAddress();
}

const ended = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/* "What it says." */
const sentence = (text) => ended(text.charAt(0).toUpperCase() + text.slice(1));

/* A line on the page; none for ''. What is drawn is `stale` where it is not of the settings. */
function warn(text, stale = false) {
    element('alert').textContent = text;
    element('alert').hidden = text === '';
    document.body.classList.toggle('stale', stale);
    for (const button of document.querySelectorAll('[data-copy]')) button.disabled = stale;
    for (const { field, refusal } of controls.values()) {
        refusal.hidden = true;
        field.removeAttribute('aria-invalid');
    }
}

/* The control that a refusal is about: the one whose value it quotes, or else names first. */
function controlOf(message) {
    const names = [...controls.keys()].filter((name) => name !== 'machine');
    const placeOf = (name, pattern) => message.search(new RegExp(pattern.replace('NAME', name)));
    for (const pattern of ['(?<![\\w-])NAME ?=', '--NAME(?![\\w-])']) {
        const found = names.filter((name) => placeOf(name, pattern) >= 0)
            .sort((a, b) => placeOf(a, pattern) - placeOf(b, pattern));
        if (found.length) return controls.get(found.find((name) => name in state.settings) ?? found[0]);
    }
    return /(?<![\w-])(device ?=|sim:|machine)/.test(message) ? controls.get('machine') : null;
}

/* Says why the settings can't be simulated. The last run's picture stays, or comes back in place of a
 * file's, marked as not of them. */
async function refuse(asked, message) {
    if (!answer?.states && simulated) present(...simulated);
    else if (!simulated) await showDefaults();
    if (taken || wanted) return;
    const words = message === STOPPED ? 'The run was stopped.' : ended(message);
    const old = simulated ? ` The picture is not of these settings, but of ${simulated[1].defaults ? 'the defaults' : 'the last that were simulated'}.` : '';
    warn(`${asked.notice} ${words}${old}`.trim(), simulated !== null);
    const control = controlOf(message);
    if (!control) return;
    control.refusal.textContent = message;
    control.refusal.hidden = false;
    control.field.setAttribute('aria-invalid', 'true');
    control.row.closest('details')?.setAttribute('open', '');
}

/* Something to look at, where no settings were simulated yet. */
async function showDefaults() {
    const list = [{ name: 'defaults', machine: defaultMachine(), settings: {} }], ini = iniOf(list), { drawn } = await tried(ini);
    if (drawn && !taken) present(drawn, { states: list, command: commandOf(list[0]), ini, defaults: true });
}

/* --- what is shown of an answer ----------------------------------------------------------------- */

/* Draws `drawn`, data of the simulator or of a file, with all that the page says of it. `of` says
 * where it is from: { states: those of its runs, command, ini } or { file, command }. */
function present(drawn, of) {
    answer = of;
    if (of.states) simulated = [drawn, of];
    show(drawn.message ? drawn : { ...drawn, message: messageOf(drawn) });
    document.title = `pipeline lab: ${element('title').textContent}`;
    showFigures(drawn);
    showCauses(drawn);
    const limits = drawn.runs.filter((run) => run.limit_from).map((run) => `Its limit, as the ${run.limit_from} says: ${run.limit}`);
    fill(element('notes'), [...limits, ...drawn.notes ?? []].map((note) => html('li', '', sentence(note))));
    element('command').textContent = of.command;
    element('config').textContent = of.ini ?? '';
    element('config').closest('details').hidden = !of.ini;
    showCode(of);
    element('file-line').hidden = !of.file;
    if (of.file) element('hint').hidden = true;
    showPins();
    lockSettings(Boolean(of.file));
}

/* The settings are the simulator's: while a file is open, nothing that is typed into them takes its place. */
function lockSettings(locked) {
    element('locked').hidden = !locked;
    for (const id of ['presets', 'controls']) element(id).inert = locked;
}

/* The answer in one line, where the command has none for these runs together. */
function messageOf(drawn) {
    const run = drawn.runs.at(-1), cause = run?.verdicts?.find(({ named }) => named);
    if (!run) return '';
    const name = drawn.runs.length > 1 ? `${run.name}: ` : '';
    if (cause) return `${name}${cause.code} costs ${cause.cost} of ${run.time}`;
    return run.ratio ? `${name}${run.time}, ${run.ratio} of the limit` : `${name}${run.time}`;
}

function showFigures(drawn) {
    const run = drawn.runs.at(-1) ?? {}, unlike = drawn.runs.length > 1;
    const entries = [['time', tookOf(run)], ['limit', run.limit], ['of the limit', run.ratio],
        ['speed-up', unlike ? run.speedup : ''], ['concurrency', run.concurrency]];
    fill(element('figures'), entries.filter(([, value]) => value).map(([name, value]) =>
        html('div', '', html('dt', '', name), html('dd', '', value))));
}

/* A button that applies `command` to `base`. */
function fixButton(command, base) {
    const button = html('button', 'fix', 'Apply ', html('code', '', command));
    button.type = 'button';
    button.onclick = () => {
        setState(applied(command, base));
        element('title').focus(); // the button goes, and the answer is there
    };
    return button;
}

/* The fix of a cause is a button where the run is of the simulator. */
function fixOf({ fix, command, predicted }, base) {
    if (!fix && !command) return [];
    return [html('p', '', fix ? sentence(fix).replace(/\.$/, command || predicted ? ': ' : '.') : '',
        ...(command ? [base ? fixButton(command, base) : html('code', '', command)] : []), predicted ? ` predicted: ${predicted}` : '')];
}

function causesOf(run, base) {
    const items = (run.verdicts ?? []).map((cause) => {
        const { code, cost, share: part, named, text, seen } = cause;
        const price = isBound(cause) || cost === '0 ns' ? '' : `${cost}${part ? `, ${part}` : ''}`;
        return html('li', named ? 'named' : '', html('h3', '', code, html('span', '', price)),
            html('p', '', sentence(text), ...(seen ? [html('span', 'seen', ` Seen: ${seen}.`)] : [])),
            ...fixOf(cause, base));
    });
    if (run.no_verdict) items.push(html('li', '', html('p', '', sentence(run.no_verdict))));
    if (run.best && !run.verdicts?.some(({ command }) => command === run.best.command)) {
        items.push(html('li', 'best', html('h3', '', 'best settings found'), ...fixOf(run.best, base)));
    }
    return items;
}

/* The causes of the run that the reader has set, or of all. */
function showCauses(drawn) {
    const own = pinned && answer.states ? drawn.runs.slice(-1) : drawn.runs;
    const baseOf = (run) => answer.states?.[drawn.runs.indexOf(run)];
    fill(element('cause-list'), own.flatMap((run) => [...(own.length > 1 ? [html('h3', 'of-run', run.name)] : []),
        html('ol', '', ...causesOf(run, baseOf(run)))]));
}

/* Puts `text` on the clipboard, and says on `button` that it did. Where that is forbidden, `source`, which
 * shows the text, is selected. */
async function copy(text, button, source) {
    const name = button.dataset.name ??= button.textContent;
    try {
        await navigator.clipboard.writeText(text);
        button.textContent = 'Copied';
    } catch {
        if (source) getSelection().selectAllChildren(source);
        button.textContent = source ? 'Now press ctrl+C' : 'Copy it from the address bar';
    }
    element('said').textContent = button.textContent;
    setTimeout(() => { button.textContent = name; }, COPIED_MS);
}

/* --- the code ----------------------------------------------------------------------------------- */

/* A run as a CUDA program, with a button that copies it, or why it can't be one. */
function programOf({ name, code, refusal }, index, list) {
    const title = list.length > 1 ? [html('h3', '', name)] : [];
    if (!code) return [...title, html('p', '', sentence(refusal))];
    const text = html('pre', '', code), button = html('button', '', 'Copy');
    button.type = 'button';
    button.onclick = () => copy(code, button, text);
    return [...title, html('div', 'copied', text, button)];
}

/* Makes a folded part of the page with the runs of a config as CUDA programs. These are written only once it is opened. */
function codeOf(ini) {
    const place = html('div', ''), folded = html('details', 'code', html('summary', '', 'Show me the code'), place);
    folded.ontoggle = async () => {
        if (!folded.open || place.hasChildNodes()) return;
        const { programs, message } = await engine.code(ini).catch((error) => error);
        fill(place, programs ? [...programs.some(({ code }) => code) ? [html('p', '', 'A program of its own, which checks its result and prints its time. Its head says how to compile and run it.')] : [],
            ...programs.flatMap(programOf)] : [html('p', '', sentence(message))]);
    };
    return folded;
}

/* The code of the run that the reader has set; it stays open from run to run. */
function showCode({ states }) {
    const open = element('code').querySelector('details')?.open ?? false;
    fill(element('code'), states ? [Object.assign(codeOf(iniOf(states.slice(-1))), { open })] : []);
}

/* --- the pinned run ----------------------------------------------------------------------------- */

/* The run that is drawn can be pinned and swapped; the controls may have settings that were refused. */
const drawnStates = () => (answer?.states ?? []).map(({ machine, settings }) => ({ machine, settings }));

function showPins() {
    const { length } = drawnStates();
    element('pin').hidden = length === 0;
    element('pin').textContent = pinned ? 'Pin this run instead' : 'Pin this run as "before"';
    element('swap').hidden = !pinned || length < 2;
    element('unpin').hidden = !pinned || length === 0;
}

function pin(next) {
    const refused = document.body.classList.contains('stale');
    pinned = next;
    showPins();
    return setState(state, refused && pinned ? 'The run of the picture is pinned.' : '');
}

function swap() {
    const [before, now] = drawnStates();
    pinned = now;
    return setState(before);
}

/* --- files -------------------------------------------------------------------------------------- */

function openFile(file) {
    if (file.size === 0) return warn(`${file.name} is empty: there is nothing to draw.`);
    if (file.size >= FILE_MOST) {
        return warn(`${file.name} has ${Math.round(file.size / 1e6)} MB, and this page reads less than ${FILE_MOST / 1e6} MB: ` +
            '`pipeline view` reads it.');
    }
    return inTurn(`Reading ${file.name}`, async () => {
        const { drawn, refusal } = await file.arrayBuffer().then((bytes) => engine.view(file.name, bytes))
            .then((data) => ({ drawn: data }), (error) => ({ refusal: error }));
        if (wanted) return; // the reader went on
        if (drawn) showFile(file.name, drawn);
        else refuseFile(file.name, refusal);
    });
}

function showFile(name, drawn) {
    clearTimeout(addressTimer);
    if (taken) history.pushState(null, '', '#');
    isTaken(new URLSearchParams()); // a lesson makes way for the file
    element('file-name').textContent = `${name} was read here: nothing of it left this machine. `;
    const word = shellWord(name);
    present(drawn, { file: name, command: `pipeline view ${word === name && !name.startsWith('-') ? name : `-- ${word}`}` });
    warn('');
}

function refuseFile(name, { message, refused }) {
    const none = 'This is no file that the lab can read: a recording of `pipeline record`, a .csv of --timeline, a .pt.trace.json of PyTorch, or the CSV of nsys stats.';
    const why = ended(message.startsWith(name) ? message : `${name}: ${message}`);
    warn(refused ? `${none} ${why}` : message === STOPPED ? `Reading ${name} was stopped.` : why, document.body.classList.contains('stale'));
}

function listenForFiles() {
    const over = (event) => event.dataTransfer?.types.includes('Files');
    const mark = (on) => { element('drop').hidden = !on; };
    addEventListener('dragover', (event) => {
        if (!over(event)) return;
        event.preventDefault();
        mark(true);
    });
    addEventListener('dragleave', (event) => { if (!event.relatedTarget) mark(false); });
    addEventListener('drop', (event) => {
        if (!over(event)) return;
        event.preventDefault();
        mark(false);
        if (event.dataTransfer.files.length) openFile(event.dataTransfer.files[0]);
    });
    element('open-file').onclick = () => element('file').click();
    element('file').onchange = ({ target }) => {
        if (target.files.length) openFile(target.files[0]);
        target.value = ''; // the same file may be chosen again
    };
}

/* --- the start ---------------------------------------------------------------------------------- */

function listenToPage() {
    const form = element('settings');
    form.onsubmit = (event) => event.preventDefault();
    form.addEventListener('focusin', ({ target }) => showHelp(target));
    form.addEventListener('pointerover', ({ target }) => showHelp(target));
    for (const kind of ['input', 'click']) form.addEventListener(kind, () => { element('hint').hidden = true; });
    element('skip').onclick = (event) => { // the address is the state's
        event.preventDefault();
        document.querySelector('#controls :is(input, select)').focus();
    };
    element('take-hint').onclick = () => {
        element('hint').hidden = true;
        setState({ ...state, settings: { ...state.settings, ...HINT } });
        element('set-streams').focus();
    };
    element('end-hint').onclick = () => { element('hint').hidden = true; };
    element('pin').onclick = () => pin(drawnStates().at(-1));
    element('unpin').onclick = () => pin(null);
    element('swap').onclick = swap;
    element('stop').onclick = () => engine.stop();
    element('leave-file').onclick = () => {
        setState(state);
        element('open-file').focus();
    };
    element('copy-link').onclick = ({ target }) => copy(linkOf(), target, null);
    for (const button of document.querySelectorAll('[data-copy]')) {
        const source = element(button.dataset.copy);
        button.onclick = () => copy(source.textContent, button, source);
    }
    addEventListener('hashchange', readAddress);
}

/* Functions of lab_lessons.js that are called once the catalogue is there, before the address is read. */
const starters = [];

async function startLab() {
    try {
        catalogue = await engine.start();
    } catch (error) {
        element('otherwise').hidden = false;
        warn(`The simulator can't start: ${error.message}.`);
        return;
    }
    document.body.classList.remove('without');
    for (const option of catalogue.options) option.default ??= option.choices[0] ?? '';
    makeControls();
    listenToPage();
    listenForFiles();
    for (const begin of starters) begin();
    element('hint').hidden = location.hash.length > 1;
    readAddress();
}

addEventListener('DOMContentLoaded', startLab);
