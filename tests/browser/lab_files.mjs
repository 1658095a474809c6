// lab_files.mjs - files that are dropped on the lab page: recordings of other programs and our own
// timelines must be judged as `pipeline view` judges them. Run by `make check-browser`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { closePage, folder, launch, make, ownCases } from './cases.mjs';
import { figuresOfPage, figuresOfReport, pipeline } from './lab_command.mjs';
import { alertOf, noLab, openLab } from './lab_open.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* Drops the file at `path` on the page; resolves when it is drawn, or refused. */
async function drop(page, path) {
    const name = path.split('/').at(-1), transfer = await page.evaluateHandle(([text, as]) => {
        const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)), made = new DataTransfer();
        made.items.add(new File([bytes], as));
        return made;
    }, [readFileSync(path).toString('base64'), name]);
    await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
    await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
    await page.waitForFunction((wanted) => !underway && [document.getElementById('file-line'), document.getElementById('alert')]
        .some((line) => !line.hidden && line.textContent.includes(wanted)), name);
}

async function check(page, path) {
    await drop(page, path);
    const { status, out, error } = await pipeline('view', '-q', '--format=json', path);
    if (status !== 0) {
        const said = await alertOf(page);
        assert.notEqual(said, '', `${path}: the command refuses it: ${error}`);
        return;
    }
    assert.equal(await alertOf(page), '', path);
    const shown = (await page.evaluate(() => runs.map(({ spans, columns, ...run }) => run))).map(figuresOfPage);
    const given = JSON.parse(out).runs.map(figuresOfReport);
    const limits = [...readFileSync(path, 'utf8').matchAll(/^# +limit_ns: (\d+)$/gm)].map(([, limit]) => limit);
    for (const [i, run] of given.entries()) {
        run.limit ??= limits[i] ?? null; // a page knows the one in the file, too,
        run.best = run.best?.[0] ? run.best : null; // and no settings that would make it better
    }
    assert.deepEqual(shown, given, path);
}

const recordings = resolve('tests/foreign/recordings');
let noXz = false;
try {
    execFileSync('xz', ['--version']);
} catch {
    noXz = 'there is no xz';
}

describe('files that are dropped', { skip: noLab }, () => {
    test('recordings: times, verdicts and fixes of `pipeline view`', { skip: noXz }, async () => {
        mkdirSync(folder, { recursive: true });
        const page = await openLab(browser), packed = readdirSync(recordings).filter((name) => name.endsWith('.jsonl.xz'));
        assert.ok(packed.length > 50);
        for (const name of packed) {
            const path = join(folder, name.replace(/\.xz$/, ''));
            writeFileSync(path, execFileSync('xz', ['-dc', join(recordings, name)], { maxBuffer: 2 ** 30 }));
            await check(page, path);
        }
        await closePage(page);
    });

    test('our own CSV', async () => {
        const page = await openLab(browser);
        for (const name of ownCases) await check(page, make(name).replace(/html$/, 'csv'));
        await check(page, join(recordings, 'bare.csv'));
        await closePage(page);
    });

    test('a file in place of a lesson, and back to the simulator', async () => {
        const page = await openLab(browser, '#lesson=08-three-way');
        await drop(page, make('one').replace(/html$/, 'csv'));
        await page.locator('#leave-file').click();
        await page.waitForFunction(() => !underway && !wanted && document.getElementById('file-line').hidden);
        assert.equal(await alertOf(page), '');
        await closePage(page);
    });
});
