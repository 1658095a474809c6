// axe.mjs - axe-core on the pages, in light and dark, wide and narrow: it may find nothing serious.
// Run by `make check-browser`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launch, make } from './cases.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* What axe-core finds of impact serious or critical: "rule: what is wrong, of which elements". */
async function findings(page) {
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => (await axe.run(document, { resultTypes: ['violations'] })).violations
        .map(({ id, impact, help, nodes }) => ({ id, impact, help, targets: nodes.map((node) => node.target.join(' ')) })));
    return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
        .map(({ id, help, targets }) => `${id}: ${help}: ${targets.slice(0, 5).join(', ')}${targets.length > 5 ? ` and ${targets.length - 5} more` : ''}`);
}

/* Opens `file` in each form, does `act` and looks. */
async function check(t, file, act = async () => {}) {
    for (const colorScheme of ['light', 'dark']) for (const [width, height] of [[1280, 720], [400, 800]]) {
        await t.test(`${colorScheme}, ${width} px`, async () => {
            const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
            const page = await context.newPage();
            await page.goto(pathToFileURL(file).href);
            await act(page);
            assert.deepEqual(await findings(page), []);
            await context.close();
        });
    }
}

test('timeline', (t) => check(t, make('ways')));

test('timeline: a span shown, at an event, keys listed', (t) => check(t, make('ways'), async (page) => {
    for (const key of ['ArrowRight', 'ArrowRight', 'n', 'c', '?']) await page.keyboard.press(key);
}));

test('timeline by streams', (t) => check(t, make('breadth'), (page) => page.keyboard.press('e')));
