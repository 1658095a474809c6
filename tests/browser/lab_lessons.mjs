// lab_lessons.mjs - the lessons and the mysteries of the lab page: what is revealed must be what the
// command says of the same runs. Run by `make check-browser`.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { closePage, launch } from './cases.mjs';
import { figuresOfPage, reportOf, simulate } from './lab_command.mjs';
import { noLab, openLab } from './lab_open.mjs';

const MYSTERIES = 20;

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const goTo = (page, hash) => page.evaluate((next) => { location.hash = next; }, hash);
const figuresOf = async (page) => (await page.evaluate(() => runs.map(({ spans, columns, ...run }) => run))).map(figuresOfPage);

/* What the answer to a guess must hold, by the command's figures of the lesson's runs. */
function expected({ kind, runs: names = [] }, report) {
    const time = (name) => Number(report.find((run) => run.name === name).figures.time);
    const byTime = [...report].sort((a, b) => a.figures.time - b.figures.time), ratio = time(names[0] ?? report[0].name) / time(names[1] ?? report[0].name);
    switch (kind) {
    case 'faster': return `${Number(ratio.toPrecision(ratio < 1 ? 2 : 3))}x`;
    case 'either': return Math.max(ratio, 1 / ratio) < 1.01 ? 'no difference' : names[ratio < 1 ? 0 : 1];
    case 'fastest': return byTime[0].name;
    case 'slowest': return byTime.at(-1).name;
    case 'cause': return report.find((run) => run.name === names[0]).named[0];
    default: throw new Error(`a guess of kind ${kind}`);
    }
}

/* Guesses something, in each field that there is. */
async function guess(page) {
    for (const field of await page.locator('#lesson fieldset.guess, #lesson-after fieldset.guess').all()) {
        const number = field.locator('input[type=number]');
        if (await number.count()) await number.fill('2.5');
        else await field.locator('input[type=radio]').first().check();
    }
}

describe('lessons', { skip: noLab }, () => {
    test('each: guess, reveal, the command\'s figures', async () => {
        const page = await openLab(browser), lessons = await page.evaluate('catalogue.lessons');
        assert.ok(lessons.length >= 28, `${lessons.length} lessons`);
        for (const lesson of lessons) {
            await goTo(page, `lesson=${lesson.name}`);
            await page.locator('#lesson h1', { hasText: lesson.title }).waitFor();
            assert.equal(await page.locator('#lesson .question').textContent(), lesson.question);
            assert.ok(lesson.guesses.length > 0, lesson.name);
            assert.equal(await page.locator('#lesson fieldset.guess').count(), lesson.guesses.length, lesson.name);
            assert.equal(await page.locator('.answer').count(), 0, `${lesson.name}: answered before it is asked`);
            await guess(page);
            await page.getByRole('button', { name: 'Reveal' }).click();
            await page.locator('#lesson .answer').first().waitFor();
            const report = await reportOf(resolve(`configs/lessons/${lesson.name}.ini`));
            assert.deepEqual(await figuresOf(page), report.map((run) => run.figures), lesson.name);
            const answers = await page.locator('#lesson .answer').all();
            assert.equal(answers.length, lesson.guesses.length);
            for (const [i, answer] of answers.entries()) {
                assert.equal(await answer.locator('b').first().textContent(), expected(lesson.guesses[i], report), `${lesson.name}: ${lesson.guesses[i].question}`);
            }
            assert.ok((await page.locator('#lesson-after .remember').textContent()).endsWith(lesson.message));
        }
        await goTo(page, 'lessons');
        await page.waitForFunction((many) => document.querySelectorAll('#lesson .path .done').length === many, lessons.length);
        await page.reload(); // the page keeps what was done
        await page.waitForFunction((many) => document.querySelectorAll('#lesson .path .done').length === many, lessons.length);
        await closePage(page);
    });

    test('a guess that takes no difference for one is not near', async () => {
        const page = await openLab(browser);
        const marks = await page.evaluate(() => [[1.5, 1.04], [1, 1.04], [1.2, 0.9], [2, 2.1], [2, 2.5], [1.2, 2.5]].map((pair) => markOfRatio(...pair)));
        assert.deepEqual(marks, ['wrong', 'right', 'wrong', 'right', 'near', 'wrong']);
        await closePage(page);
    });

    test('a lesson without a guess, by keyboard', async () => {
        const page = await openLab(browser, '#lessons');
        await page.getByRole('link', { name: /^Begin/ }).focus();
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name: 'Reveal' }).focus();
        await page.keyboard.press('Enter');
        await page.locator('#lesson .answer').first().waitFor();
        assert.match(await page.locator('#lesson .answer').first().textContent(), /^You made no guess/);
        await closePage(page);
    });

    test('the code of a lesson has a program for each run', async () => {
        const page = await openLab(browser, '#lesson=16-default-stream');
        await page.getByRole('button', { name: 'Reveal' }).click();
        await page.getByText('Show me the code').and(page.locator('#lesson-after summary')).click();
        await page.locator('#lesson-after .code pre').first().waitFor();
        const names = await page.locator('#lesson-after .code h3').allTextContents(), codes = await page.locator('#lesson-after .code pre').allTextContents();
        assert.deepEqual(names, await page.evaluate('runs.map(({ name }) => name)'));
        assert.equal(new Set(codes).size, names.length);
        for (const code of codes) assert.match(code, /int main\(\) \{/);
        await closePage(page);
    });

    test('free play from a lesson is that run', async () => {
        const page = await openLab(browser, '#lesson=16-default-stream');
        await page.getByRole('button', { name: 'Reveal' }).click();
        await page.locator('#lesson .answer').first().waitFor();
        const [{ time }] = await figuresOf(page);
        await page.locator('.play a').first().click();
        await page.waitForFunction(() => runs.length === 1 && !underway && !wanted);
        assert.equal((await figuresOf(page))[0].time, time);
        await closePage(page);
    });

    test('answers for the teacher: of every lesson', async () => {
        const page = await openLab(browser, '#answers'), lessons = await page.evaluate('catalogue.lessons');
        await page.waitForFunction((many) => document.querySelectorAll('#lesson .answers section').length === many, lessons.length);
        for (const [i, lesson] of lessons.entries()) {
            const given = await page.locator('#lesson .answers section').nth(i).locator('dd').allTextContents();
            const report = await reportOf(resolve(`configs/lessons/${lesson.name}.ini`));
            lesson.guesses.forEach((one, g) => assert.ok(given[g].startsWith(expected(one, report)), `${lesson.name}: ${given[g]}`));
        }
        await closePage(page);
    });
});

describe('exercises', { skip: noLab }, () => {
    test('each: what is asked for, both programs, the simulator', async () => {
        const page = await openLab(browser, '#exercises'), exercises = await page.evaluate('catalogue.exercises');
        assert.equal(await page.locator('#lesson .path a').count(), exercises.length);
        assert.ok(exercises.length >= 13, `${exercises.length} exercises`);
        for (const { name, title, task, start, answer } of exercises) {
            await goTo(page, `exercise=${name}`);
            await page.locator('#lesson h1', { hasText: title.slice(1) }).waitFor();
            assert.ok((await page.locator('#lesson').textContent()).includes(task[0]), name);
            assert.equal(await page.locator('#lesson pre').textContent(), start);
            await page.locator('#lesson-after pre').waitFor({ state: 'attached' });
            assert.equal(await page.locator('#lesson-after pre').textContent(), answer);
            const figures = await figuresOf(page);
            assert.ok(figures.length > 1 && Number(figures[0].time) >= Number(figures.at(-1).time), `${name}: nothing is gained`);
        }
        await goTo(page, 'exercise=99');
        await page.locator('#alert', { hasText: 'There is no exercise "99"' }).waitFor();
        await closePage(page);
    });
});

describe('mysteries', { skip: noLab }, () => {
    test(`1 to ${MYSTERIES}: the answer is among the choices, told by nothing else, and is the command's`, async () => {
        const page = await openLab(browser), answers = new Set();
        for (let seed = 1; seed <= MYSTERIES; seed++) {
            await goTo(page, `mystery=${seed}`);
            await page.waitForFunction((wanted) => document.querySelector('#lesson h1')?.textContent === wanted &&
                document.querySelector('#lesson-after fieldset.guess'), `Mystery ${seed}`);
            const offers = await page.locator('#lesson-after .offer b').allTextContents(), shown = await page.evaluate(() => document.body.innerText);
            assert.equal(new Set(offers).size, 5, `mystery ${seed}`);
            await guess(page);
            await page.getByRole('button', { name: 'Reveal' }).click();
            const code = await page.locator('#lesson-after .answer b').first().textContent();
            assert.ok(offers.includes(code), `mystery ${seed}: ${code} is not among ${offers}`);
            assert.equal(shown.split(code).length, 2, `mystery ${seed}: ${code} is told before it is asked`);
            await page.getByRole('link', { name: 'Play with it' }).click();
            await page.waitForFunction(() => document.body.dataset.part === undefined && !underway && !wanted);
            const { machine, settings } = await page.evaluate('state'), [{ named }] = await simulate([{ name: 'now', machine, settings }], 'lab-mystery.ini');
            assert.equal(named[0], code, `mystery ${seed}`);
            answers.add(code);
        }
        assert.ok(answers.size > 5, [...answers].join());
        await closePage(page);
    });
});
