// lab_bad.mjs - what can't be, given to the lab page: it must say so in a line, and go on. Run by
// `make check-browser`.
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { closePage, folder, launch, make } from './cases.mjs';
import { simulate, words } from './lab_command.mjs';
import { alertOf, labFile, noLab, openLab, setState } from './lab_open.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* A run that can be made follows, and the line is gone. */
async function goesOn(page) {
    await setState(page, 'h100', { tiles: '5' });
    assert.equal(await alertOf(page), '');
    assert.ok(await page.evaluate(() => runs.at(-1).settings.some(([name, value]) => name === 'tiles' && value === '5')));
    await closePage(page);
}

/* Addresses of settings that the command refuses, too, and in what it is about. */
const refused = ['tiles=0', 'tiles=-1', 'tiles=1.5', 'tiles=17M', 'tiles=many', 'streams=4096', 'elements=0', 'elements=2T', 'order=across',
    'layout=heap', 'ways=5', 'cpu-share=2&ways=4', 'cpu-share=0.5&ways=2', 'memory=unpinned', 'priorities=a,b', 'callbacks=perhaps', 'carry=sync',
    'connections=99', 'mistake=typo', 'mistake=missing-wait', 'mistake=legacy-stream&streams=1', 'issue=graph&memory=pageable', 'kernel=none',
    'kernel=sum,scale', 'kernel=scale,', 'kernel=transpose-naive&elements=1000', 'blocks=3&kernel=dgemm', 'tiles=64&elements=32', 'intensity=0',
    'kernel=wave-launches&intensity=65536&tiles=16M', 'elements=1T&streams=1024', 'machine=gtx9000', 'machine=', 'tiles=4%0Astreams%3D1',
    'tiles=%5Bx%5D', 'tiles=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E', `tiles=${'9'.repeat(5000)}`, 'tiles=4%3B%20comment',
    'tiles=4%20%3B%20comment'];
/* Addresses of what is no setting. */
const unknown = ['tile=4', 'x', '__proto__=1', 'constructor=1', 'toString', 'device=cuda:0', 'input=/etc/passwd', 'pin=tiles%3D0', 'pin=x', 'pin=machine%3Dnone',
    'lesson=99-none', 'lesson=', 'mystery=0', 'mystery=-1', 'mystery=x', 'mystery=1e99', '%E0%A4%A', '%', '=', '&&&', 'a'.repeat(100000)];

describe('addresses that can\'t be', { skip: noLab }, () => {
    test('settings: in the command\'s words', async () => {
        const page = await openLab(browser);
        for (const hash of refused) {
            await page.goto('about:blank');
            await page.goto(`${new URL(`file://${labFile}`)}#${hash}`);
            await page.waitForFunction(() => !document.getElementById('alert').hidden, undefined, { timeout: 20000 })
                .catch(() => assert.fail(`${hash}: no line`));
            const said = await alertOf(page), { machine = 'h200', ...settings } = Object.fromEntries(new URLSearchParams(hash));
            if (!/[\n;]/.test(settings.tiles)) { // else the config is another one
                const [{ refusal }] = await simulate([{ name: 'now', machine, settings }], 'lab-bad.ini');
                assert.ok(refusal && words(said).startsWith(refusal.replace(/\.$/, '')), `${hash}:\n${said}\n${refusal}`);
            }
            assert.ok(said.length > 10 && said.length < 1000, `${hash.slice(0, 99)}: ${said}`);
            assert.ok(await page.locator('.bar').count() > 0, `${hash}: there is no picture`);
        }
        await goesOn(page);
    });

    test('what is no setting: a line or nothing, and a picture', async () => {
        const page = await openLab(browser);
        for (const hash of unknown) {
            await page.goto('about:blank');
            await page.goto(`${new URL(`file://${labFile}`)}#${hash}`);
            await page.waitForFunction(() => document.querySelector('.bar, #lesson h1'));
            if (hash === '&&&') continue; // says nothing
            await page.waitForFunction(() => !document.getElementById('alert').hidden, undefined, { timeout: 20000 })
                .catch(() => assert.fail(`${hash.slice(0, 99)}: no line`));
            const said = await alertOf(page);
            assert.ok(said.length > 10 && said.length < 1000, `${hash.slice(0, 99)}: ${said.slice(0, 2000)}`);
        }
        await goesOn(page);
    });

    test('a refusal marks its control, and the next setting takes it away', async () => {
        const page = await openLab(browser, '#tiles=0');
        assert.equal(await page.locator('#set-tiles').getAttribute('aria-invalid'), 'true');
        await page.locator('#set-tiles').fill('7');
        await page.waitForFunction(() => document.getElementById('alert').hidden);
        assert.equal(await page.locator('#set-tiles').getAttribute('aria-invalid'), null);
        await goesOn(page);
    });
});

/* A file of `size` bytes that begins with `head`, and goes on with zeros, or with `line` over and over. */
function large(name, size, head = '', line = '') {
    const path = join(folder, name), file = openSync(path, 'w');
    writeFileSync(file, head);
    if (line) {
        const many = line.repeat(Math.ceil(1e6 / line.length));
        for (let written = head.length; written < size; written += many.length) writeFileSync(file, many);
    }
    ftruncateSync(file, size);
    closeSync(file);
    return path;
}

function small(name, content) {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
}

describe('files that are none', { skip: noLab }, () => {
    before(() => mkdirSync(folder, { recursive: true }));

    /* Opens each file; the line must name the file. Returns the lines. */
    async function lines(...paths) {
        const page = await openLab(browser), found = [];
        for (const path of paths) {
            await setState(page, 'h200', {});
            await page.locator('#file').setInputFiles(path);
            await page.waitForFunction(() => !document.getElementById('alert').hidden, undefined, { timeout: 100000 });
            found.push(await alertOf(page));
            assert.ok(found.at(-1).length < 1000 && found.at(-1).includes(path.split('/').at(-1)), found.at(-1));
            assert.ok(await page.locator('.bar').count() > 0, 'there is no picture');
        }
        await goesOn(page);
        return found;
    }

    test('no timeline, empty, cut', async () => {
        const csv = readFileSync(make('one').replace(/html$/, 'csv'), 'utf8');
        const said = await lines(small('lab-bad.txt', 'Dear diary,\n'), small('lab-empty.csv', ''), small('lab-cut.csv', csv.slice(0, csv.length - 30)),
            small('lab-head.csv', csv.slice(0, 100)), small('lab-zip.zip', Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0])),
            small('lab-<b>&amp;.json', '{"traceEvents": 3}'), small('lab-binary.jsonl', Buffer.from(Array.from({ length: 4096 }, (_, i) => i * 31 % 256))),
            small('lab-sqlite.sqlite', `SQLite format 3\0${'\0'.repeat(5000)}`));
        assert.match(said[1], /empty/);
    });

    test('200 MB, and what is just small enough to be read', async () => {
        const csv = readFileSync(make('one').replace(/html$/, 'csv'), 'utf8'), rows = csv.split('\n').filter(Boolean);
        const paths = [large('lab-zeros.csv', 200e6), large('lab-long.csv', 200e6, csv, `${rows.at(-1)}\n`),
            large('lab-zeros-small.csv', 199e6), large('lab-long-small.csv', 199e6, csv, `${rows.at(-1)}\n`)];
        await lines(...paths);
        paths.forEach((path) => rmSync(path));
    });
});

describe('a browser that lacks something', { skip: noLab }, () => {
    test('memory that runs out: a line, and the next run', async () => {
        const page = await openLab(browser);
        await setState(page, 'h200', { elements: '64M', tiles: '16M', order: 'breadth' });
        assert.match(await alertOf(page), /memory|operations/);
        await goesOn(page);
    });

    /* The simulator can't be had: the page says why, and breaks nothing else. */
    async function withoutSimulator(options, reason) {
        const page = await openLab(browser, '', options);
        assert.match(await alertOf(page), reason);
        assert.ok((await alertOf(page)).length < 400);
        await page.keyboard.press('?');
        await page.keyboard.press('Escape');
        for (const button of await page.locator('button:visible:enabled').all()) await button.click();
        return page;
    }

    test('WebAssembly forbidden by policy', async () => {
        const file = small('lab-strict.html', readFileSync(labFile, 'utf8').replace(" 'wasm-unsafe-eval'", ''));
        const page = await withoutSimulator({ file }, /WebAssembly/);
        assert.deepEqual(page.complaints.filter((one) => !/wasm|WebAssembly/i.test(one)), []); // the browser's own line
    });

    test('no WebAssembly', async () => { await closePage(await withoutSimulator({ script: 'delete globalThis.WebAssembly' }, /WebAssembly/)); });

    test('no Worker', async () => { await closePage(await withoutSimulator({ script: 'delete globalThis.Worker' }, /[Ww]orker/)); });

    test('no localStorage', async () => {
        const script = "Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } })";
        await goesOn(await openLab(browser, '', { script }));
        await goesOn(await openLab(browser, '#lesson=08-three-way', { script }));
    });

    test('localStorage that is full, or holds what is none of ours', async () => {
        await goesOn(await openLab(browser, '', { script: "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }" }));
        await goesOn(await openLab(browser, '', { script: "Storage.prototype.getItem = () => '{\"x'" }));
        await goesOn(await openLab(browser, '', { script: "Storage.prototype.getItem = () => 'null'" }));
    });

    test('no DecompressionStream', async () => {
        const page = await openLab(browser, '', { script: 'delete globalThis.DecompressionStream' });
        if (await alertOf(page) === '') await goesOn(page); // it has no need for one
        else await closePage(page);
    });
});
