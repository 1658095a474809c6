// lecture.mjs - the slides and the book in a headless Chromium: keys, clicks, swipes and addresses; no page scrolls
// sideways; axe-core finds nothing serious. Run by tests/lecture.sh, which makes them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { axeFindings, closePage, launch, openPage } from './cases.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* Opens `name`, behind which a query and a fragment may stand, and does `act`. */
async function open(name, options, act) {
    const [, file, rest] = /^([a-z]*)(.*)$/.exec(name);
    const page = await openPage(browser, pathToFileURL(`${process.env.LECTURE}/${file}.html`).href + rest, options);
    await act(page);
    await closePage(page);
}

const shown = (page) => page.evaluate(() => ({
    slide: [...document.querySelectorAll('section')].filter((each) => each.offsetHeight > 0).map((each) => each.id).join(),
    veils: [...document.querySelectorAll('.at .veil')].filter((each) => each.offsetHeight > 0).length,
    hash: location.hash,
}));

test('keys turn slides and add runs', () => open('deck', {}, async (page) => {
    const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); return shown(page); };
    assert.deepEqual(await shown(page), { slide: '1', veils: 0, hash: '#1' });
    assert.deepEqual(await press('ArrowRight', ' ', ' ', 'PageDown'), { slide: '5', veils: 1, hash: '#5' });
    assert.deepEqual(await press('ArrowDown'), { slide: '5', veils: 0, hash: '#5.1' });
    assert.deepEqual(await press('ArrowRight'), { slide: '6', veils: 1, hash: '#6' });
    assert.deepEqual(await press('ArrowLeft'), { slide: '5', veils: 0, hash: '#5.1' });
    assert.deepEqual(await press('ArrowUp', 'PageUp'), { slide: '4', veils: 0, hash: '#4' });
    assert.deepEqual(await press('Home', 'ArrowLeft'), { slide: '1', veils: 0, hash: '#1' });
    const last = await press('End');
    assert.equal(last.veils, 0);
    assert.deepEqual(await press('ArrowRight'), last);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H2');
}));

test('clicks, swipes, links and addresses', () => open('deck#12.1', { hasTouch: true }, async (page) => {
    assert.deepEqual(await shown(page), { slide: '12', veils: 1, hash: '#12.1' });
    await page.mouse.click(900, 400);
    assert.equal((await shown(page)).hash, '#12.2');
    await page.mouse.click(100, 400);
    assert.equal((await shown(page)).hash, '#12.1');
    await page.touchscreen.tap(900, 400);
    assert.equal((await shown(page)).hash, '#12.2');
    await page.evaluate(() => {
        const touch = (x) => new Touch({ identifier: 1, target: document.body, clientX: x, clientY: 300 });
        const send = (type, touches, changedTouches) => document.body.dispatchEvent(
            new TouchEvent(type, { bubbles: true, touches, changedTouches }));
        send('touchstart', [touch(300)], [touch(300)]);
        send('touchend', [], [touch(600)]);
    });
    assert.equal((await shown(page)).hash, '#12.1');
    await page.evaluate(() => { location.hash = '#2'; });
    await page.click('.at a');
    assert.equal((await shown(page)).slide, '5');
    await page.evaluate(() => { location.hash = '#999.7'; });
    await page.waitForFunction(() => location.hash !== '#999.7');
    await page.evaluate(() => { location.hash = '#no'; });
    await page.waitForFunction(() => location.hash === '#1');
}));

test('notes', () => open('deck?notes#12', {}, async (page) => {
    const notes = page.locator('.at aside');
    assert.match(await notes.innerText(), /pipeline lesson 8\b/);
    const slide = await page.locator('.at').boundingBox(), below = await notes.boundingBox();
    assert.ok(slide.y + slide.height <= below.y);
    await page.keyboard.press('n');
    assert.equal(await notes.isVisible(), false);
}));

/* Text that leaves a slide, or a title that reaches its picture. */
test('everything is on its slide', () => open('deck', {}, async (page) => {
    const faults = await page.evaluate(() => {
        const found = [];
        for (const slide of document.querySelectorAll('section')) {
            location.replace('#' + slide.id);
            dispatchEvent(new HashChangeEvent('hashchange'));
            const box = slide.getBoundingClientRect();
            const figure = slide.querySelector('figure')?.getBoundingClientRect();
            for (const each of slide.querySelectorAll('h1, h2, p, li, footer *, svg text')) {
                if (each.closest('aside')) continue;
                const range = document.createRange();
                range.selectNodeContents(each);
                const { left, right, top, bottom } = range.getBoundingClientRect();
                const under = figure && each.matches('h1, h2, .question, .title p') && bottom > figure.top;
                if (left < 0 || right > box.right || top < box.top || bottom > box.bottom || under)
                    found.push(`${slide.id}: ${each.textContent}`);
                if (parseFloat(getComputedStyle(each).fontSize) < 24)
                    found.push(`${slide.id}: small: ${each.textContent}`);
            }
        }
        return found;
    });
    assert.deepEqual(faults, []);
}));

test('without its script all slides are there', () => open('deck', { javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator('.veil:visible').count(), 0);
    assert.equal(await page.locator('h2:visible').count(), await page.locator('h2').count());
}));

test('the book does not scroll sideways', async (t) => {
    for (const colorScheme of ['light', 'dark']) await t.test(colorScheme, () => open('book', { viewport: { width: 400, height: 800 }, colorScheme }, async (page) => {
        await page.evaluate(() => document.querySelectorAll('details').forEach((each) => { each.open = true; }));
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 400);
        const [text, ground] = await page.evaluate(() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]);
        const light = (color) => color.match(/\d+/g).slice(0, 3).reduce((sum, each) => sum + Number(each), 0);
        assert.equal(light(text) > light(ground), colorScheme === 'dark');
    }));
});

test('axe-core finds nothing serious', async (t) => {
    for (const [name, colorScheme] of [['deck#12', 'light'], ['deck#2', 'light'], ['deck?notes#1', 'light'], ['deck?notes#12', 'light'], ['book', 'light'], ['book', 'dark']])
        await t.test(`${name} ${colorScheme}`, () => open(name, { colorScheme }, async (page) => {
            assert.deepEqual(await axeFindings(page), []);
        }));
});
