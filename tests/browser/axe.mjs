// axe.mjs - axe-core on the pages, in light and dark, wide and narrow: it may find nothing serious.
// Run by `make check-browser`.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { axeFindings, launch, make } from './cases.mjs';
import { labFile, noLab } from './lab_open.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* Opens `file` in each form; looks, and again after each step of `steps`, [what, act]; those of `more`
 * are done in two of the four forms. */
async function check(t, file, steps = [], more = []) {
    for (const colorScheme of ['light', 'dark']) for (const [width, height] of [[1280, 720], [400, 800]]) {
        const all = [['opened', (opened) => opened.locator('.bar').first().waitFor()], ...steps,
            ...((colorScheme === 'light') === (width === 1280) ? more : [])];
        await t.test(`${colorScheme}, ${width} px`, async () => {
            const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
            const page = await context.newPage();
            await page.goto(pathToFileURL(file).href);
            for (const [what, act] of all) {
                await act(page);
                assert.deepEqual(await axeFindings(page), [], what);
            }
            await context.close();
        });
    }
}

const press = (...keys) => async (page) => { for (const key of keys) await page.keyboard.press(key); };

test('timeline', (t) => check(t, make('ways'), [['a span shown, at an event', press('ArrowRight', 'ArrowRight', 'n', 'c')],
    ['keys listed', press('?')], ['by streams', press('Escape', 'e')]]));

/* Goes to an address of the open page. */
const goTo = (hash, selector) => async (page) => {
    await page.evaluate((next) => { location.hash = next; }, hash);
    await page.locator(selector).first().waitFor();
};
const reveal = async (page) => {
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.locator('.answer').first().waitFor();
};

test('lab', { skip: noLab }, (t) => check(t, labFile, [
    ['a file', async (page) => {
        await page.locator('#file').setInputFiles(make('ways').replace(/html$/, 'csv'));
        await page.locator('#file-line:not([hidden])').waitFor();
    }],
    ['a lesson', goTo('lesson=08-three-way', 'fieldset.guess')], ['its answers', reveal],
], [
    ['all controls', async (page) => {
        await goTo('tiles=6', '#settings')(page);
        await page.evaluate(() => { for (const one of document.querySelectorAll('details')) one.open = true; });
    }],
    ['a refusal', goTo('tiles=0', '#alert:not([hidden])')],
    ['a pinned run', goTo('streams=8&pin=streams%3D1', '#unpin:not([hidden])')],
    ['the lessons', goTo('lessons', '.path')],
    ['a lesson with a choice', goTo('lesson=16-default-stream', 'fieldset.guess input[type=radio]')], ['its answer', reveal],
    ['a mystery', goTo('mystery=1', '#lesson-after fieldset')], ['its answer', reveal],
    ['answers for the teacher', goTo('answers', '.answers section')],
]));
