// lecture.mjs - the slides, the handouts and the book in a headless Chromium: keys, clicks, swipes and addresses; nothing
// leaves a slide, a handout is one sheet, no page scrolls sideways; axe-core finds nothing serious. Run by tests/lecture.sh, which makes them.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { axeFindings, closePage, launch, openPage } from './cases.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* Opens `name`, behind which a query and a fragment may stand, and does `act`. */
async function open(name, options, act) {
    const [, file, rest] = /^([^?#]*)(.*)$/.exec(name);
    const page = await openPage(browser, pathToFileURL(`${process.env.LECTURE}/${file}.html`).href + rest, options);
    await act(page);
    await closePage(page);
}

const shown = (page) => page.evaluate(() => {
    const [slide, ...others] = [...document.querySelectorAll('section')].filter((each) => each.offsetHeight > 0);
    return others.length === 0 && location.hash === `#${slide.id}` ? slide.id : `${slide.id} at ${location.hash}`;
});

test('keys turn slides', () => open('deck', {}, async (page) => {
    const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); return shown(page); };
    assert.equal(await shown(page), 'title');
    assert.equal(await press('ArrowRight', ' ', 'ArrowDown', 'PageDown'), '1-tile');
    assert.equal(await press('ArrowRight', 'ArrowRight', 'ArrowRight'), '01-serial');
    assert.equal(await press('ArrowLeft'), '3-limit');
    assert.equal(await press('ArrowUp', 'PageUp', 'Shift+Space'), 'contents-27');
    assert.equal(await press('Home', 'ArrowLeft'), 'title');
    const last = await press('End');
    assert.equal(last, 'remember-27');
    assert.equal(await press('ArrowRight'), last);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H2');
}));

test('clicks, swipes, links and addresses', () => open('deck#08-three-way', { hasTouch: true }, async (page) => {
    assert.equal(await shown(page), '08-three-way');
    await page.mouse.click(900, 400);
    assert.equal(await shown(page), '08-three-way-run');
    await page.mouse.click(100, 400);
    assert.equal(await shown(page), '08-three-way');
    await page.touchscreen.tap(900, 400);
    assert.equal(await shown(page), '08-three-way-run');
    await page.evaluate(() => {
        const touch = (x) => new Touch({ identifier: 1, target: document.body, clientX: x, clientY: 300 });
        const send = (type, touches, changedTouches) => document.body.dispatchEvent(
            new TouchEvent(type, { bubbles: true, touches, changedTouches }));
        send('touchstart', [touch(300)], [touch(300)]);
        send('touchend', [], [touch(600)]);
    });
    assert.equal(await shown(page), '08-three-way');
    const goTo = (hash, found) => page.evaluate((to) => { location.hash = to; }, hash)
        .then(() => page.waitForFunction((to) => location.hash === to, found));
    await goTo('#2', '#contents-1');
    await page.click('.at a');
    assert.equal(await shown(page), '01-serial');
    await goTo('#999', '#remember-27');
    await goTo('#no', '#title');
}));

test('notes', () => open('deck?notes#08-three-way-run', {}, async (page) => {
    const notes = page.locator('.at aside');
    assert.match(await notes.innerText(), /pipeline lesson 8\b/);
    const slide = await page.locator('.at').boundingBox(), below = await notes.boundingBox();
    assert.ok(slide.y + slide.height <= below.y);
    await page.keyboard.press('n');
    assert.equal(await notes.isVisible(), false);
}));

test('a window with the notes turns the slides, and they turn it', () => open('deck#08-three-way', {}, async (page) => {
    const [notes] = await Promise.all([page.waitForEvent('popup'), page.keyboard.press('p')]);
    await notes.waitForSelector('.at aside:visible');
    assert.equal(await shown(notes), '08-three-way');
    await notes.keyboard.press('ArrowRight');
    await page.waitForFunction(() => location.hash === '#08-three-way-run');
    await page.keyboard.press('End');
    await notes.waitForFunction(() => location.hash === '#remember-27');
    assert.equal(await page.locator('aside:visible').count(), 0);
}));

/* Text that leaves a slide, or a title that reaches its picture. */
test('everything is on its slide', () => open('deck', {}, async (page) => {
    const faults = await page.evaluate(() => {
        const found = [];
        for (const slide of document.querySelectorAll('section')) {
            location.replace('#' + slide.id);
            dispatchEvent(new HashChangeEvent('hashchange'));
            const box = slide.getBoundingClientRect();
            const foot = slide.querySelector('footer').getBoundingClientRect().top;
            const parts = [...slide.querySelectorAll('h1, h2, section > p, section > ul, section > pre, section > ol, figure, .guess')];
            for (const each of slide.querySelectorAll('h1, h2, p, li, pre, footer *, svg text')) {
                if (each.closest('aside')) continue;
                const range = document.createRange();
                range.selectNodeContents(each);
                const { left, right, top, bottom } = range.getBoundingClientRect();
                if (left < 0 || right > box.right || top < box.top || bottom > box.bottom)
                    found.push(`${slide.id}: ${each.textContent}`);
                if (parseFloat(getComputedStyle(each).fontSize) < 24)
                    found.push(`${slide.id}: small: ${each.textContent}`);
            }
            const boxes = parts.map((each) => each.getBoundingClientRect());
            for (const [i, { bottom }] of boxes.entries()) {
                if (bottom > (boxes[i + 1]?.top ?? foot) + 1)
                    found.push(`${slide.id}: ${parts[i].tagName} reaches what is below it`);
            }
        }
        return found;
    });
    assert.deepEqual(faults, []);
}));

test('without its script all slides are there', () => open('deck', { javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator('h2:visible').count(), await page.locator('h2').count());
}));

test('a handout is one sheet of paper', async (t) => {
    for (const name of readdirSync(`${process.env.LECTURE}/handouts`)) {
        await t.test(name, () => open(`handouts/${name.replace('.html', '')}`, {}, async (page) => {
            const pdf = await page.pdf({ preferCSSPageSize: true });
            assert.equal(pdf.toString('latin1').match(/\/Type \/Page\b(?!s)/g).length, 2);
        }));
    }
});

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
    for (const [name, colorScheme] of [['20/deck#2', 'light'], ['20/deck#08-three-way', 'light'], ['20/deck#08-three-way-guess', 'light'],
        ['20/deck?notes#08-three-way-answer', 'light'], ['20/handouts/08-three-way', 'light'], ['20/handouts/08-three-way', 'dark'], ['book', 'light']])
        await t.test(`${name} ${colorScheme}`, () => open(name, { colorScheme }, async (page) => {
            assert.deepEqual(await axeFindings(page), []);
        }));
});
