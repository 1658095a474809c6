// lab_page.mjs - the lab page in a headless Chromium: controls, the address, the pinned run, fixes and
// the command line must do what they say. Run by `make check-browser`.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { closePage, launch } from './cases.mjs';
import { nanoseconds, pipeline, simulate, words } from './lab_command.mjs';
import { drawRuns } from './lab_draw.mjs';
import { alertOf, labFile, noLab, openLab, setState } from './lab_open.mjs';

const MEGABYTE = 1e6;

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* What the page shows: [name, time in ns] of each run. */
const timesOf = (page) => page.evaluate(() => runs.map((run) => [run.name, String(run.time_ns)]));
const stateOf = (page) => page.evaluate(() => ({ state, pinned }));
const options = { 'machine=c2050&streams=8&order=breadth': ['c2050', { streams: '8', order: 'breadth' }],
    'machine=h200&mistake=pageable-memory': ['h200', { mistake: 'pageable-memory' }],
    'machine=v100&kernel=scale,sum&tiles=12&callbacks=yes': ['v100', { kernel: 'scale,sum', tiles: '12', callbacks: 'yes' }] };

/* Settings that can be simulated, some of each machine. */
async function goodRuns(page, count) {
    const runs = drawRuns(await page.evaluate('catalogue'), 7, 3 * count), found = [];
    for (const run of runs) {
        const [{ figures }] = await simulate([run], 'lab-page.ini');
        if (figures) found.push({ ...run, figures });
    }
    return found.slice(0, count);
}

describe('the lab', { skip: noLab }, () => {
    test('at most 1 MB, one file, a picture, no network', async () => {
        assert.ok(statSync(labFile).size <= MEGABYTE, `${statSync(labFile).size} bytes`);
        const page = await openLab(browser);
        assert.ok(await page.locator('.bar').count() > 0);
        assert.ok(await page.evaluate('runs[0].spans.length') > 50);
        assert.equal(await alertOf(page), '');
        assert.match(await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content'), /^default-src 'none';/);
        await closePage(page);
    });

    test('the first picture is of the command\'s own defaults', async () => {
        const page = await openLab(browser), [{ figures }] = await simulate([{ name: 'now', machine: 'h200', settings: {} }], 'lab-page.ini');
        assert.deepEqual(await timesOf(page), [['now', figures.time]]);
        await closePage(page);
    });

    test('nothing is wider than the window, at 400 px neither', async () => {
        for (const width of [400, 600, 1280, 1920]) for (const hash of ['', '#pin=streams%3D1&streams=4&mistake=legacy-stream']) {
            const page = await openLab(browser, hash, { viewport: { width, height: 800 } });
            assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('body, body *')].filter((one) => one.checkVisibility() &&
                !one.closest('#plot, .scroll, pre, svg') && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80))), []);
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px`);
            await closePage(page);
        }
    });

    test('all controls are reached by Tab, each once, and have names', async () => {
        const page = await openLab(browser);
        await page.evaluate(() => { for (const more of document.querySelectorAll('details')) more.open = true; });
        const missed = await page.evaluate(() => {
            const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
                .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0);
            globalThis.unreached = new Set(controls);
            document.addEventListener('focusin', ({ target }) => { globalThis.unreached.delete(target); });
            return controls.length;
        });
        assert.ok(missed > 30, `${missed} controls`);
        for (let i = 0; i < 2 * missed && await page.evaluate('unreached.size'); i++) await page.keyboard.press('Tab');
        assert.deepEqual(await page.evaluate(() => [...globalThis.unreached].map((one) => one.outerHTML.slice(0, 120))), []);
        const session = await page.context().newCDPSession(page), { nodes } = await session.send('Accessibility.getFullAXTree');
        const nameless = nodes.filter(({ ignored, role, name, properties }) => !ignored && role?.value !== 'RootWebArea' && !name?.value &&
            properties?.some((one) => one.name === 'focusable' && one.value.value));
        assert.deepEqual(nameless.map(({ role }) => role.value), []);
        await closePage(page);
    });

    test('one Tab and Enter lead to the settings, beside which a narrow window keeps the picture', async () => {
        const page = await openLab(browser, '', { viewport: { width: 400, height: 800 } }), address = page.url();
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        assert.equal(await page.evaluate(() => document.activeElement.closest('#controls') !== null), true);
        assert.equal(page.url(), address);
        await page.locator('#set-streams').scrollIntoViewIfNeeded();
        await page.locator('#set-streams').focus();
        const [plot, control] = await page.evaluate(() => ['#plot', '#set-streams'].map((one) => document.querySelector(one).getBoundingClientRect().toJSON()));
        assert.ok(plot.top >= 0 && plot.bottom <= control.top && control.bottom <= 800, JSON.stringify([plot, control]));
        await closePage(page);
    });

    test('what is typed in a field is the setting, and no key of the picture', async () => {
        const page = await openLab(browser);
        await page.locator('#set-tiles').fill('');
        await page.locator('#set-tiles').pressSequentially('12');
        await page.waitForFunction(() => !underway && !wanted);
        assert.equal((await stateOf(page)).state.settings.tiles, '12');
        for (const [keys, text, tiles] of [[['Backspace', 'Backspace'], '', undefined], [['9'], '9', '9'], [['ArrowUp'], '12', '12']]) {
            for (const key of keys) await page.keyboard.press(key);
            assert.equal(await page.locator('#set-tiles').inputValue(), text);
            assert.equal((await stateOf(page)).state.settings.tiles, tiles);
        }
        await page.locator('#set-tiles').fill('');
        await page.locator('#set-streams').focus();
        assert.equal(await page.locator('#set-tiles').inputValue(), '32');
        assert.equal(await page.locator('#engines').getAttribute('aria-pressed'), 'true');
        await page.locator('#set-order').selectOption('breadth');
        await page.waitForFunction(() => runs[0].settings.some(([name, value]) => name === 'order' && value === 'breadth'));
        await closePage(page);
    });

    test('state to address, reload, the same state and picture', async () => {
        const page = await openLab(browser);
        for (const { machine, settings, figures } of await goodRuns(page, 12)) {
            await setState(page, machine, settings);
            const before = await stateOf(page), address = page.url();
            assert.equal((await timesOf(page))[0][1], figures.time);
            await page.reload();
            await page.waitForFunction(() => document.querySelector('.bar, .column'));
            assert.deepEqual(await stateOf(page), before);
            assert.equal(page.url(), address);
            assert.equal((await timesOf(page))[0][1], figures.time);
        }
        await closePage(page);
    });

    test('an address that is typed on the open page is taken', async () => {
        const page = await openLab(browser);
        for (const [hash, [machine, settings]] of Object.entries(options)) {
            await page.evaluate((next) => { location.hash = next; }, hash);
            await page.waitForFunction((wanted) => state.machine === wanted, machine);
            assert.deepEqual((await stateOf(page)).state, { machine, settings });
        }
        await closePage(page);
    });

    test('a run is pinned, swapped and taken away, and is in the address', async () => {
        const page = await openLab(browser, '#streams=1'), [[, one]] = await timesOf(page);
        await page.locator('#pin').click();
        await setState(page, 'h200', { streams: '4' });
        const [before, now] = await timesOf(page);
        assert.deepEqual(before, ['before', one]);
        assert.notEqual(now[1], one);
        assert.match(page.url(), /[#&]pin=/);
        await page.reload();
        await page.waitForFunction(() => runs.length === 2);
        assert.deepEqual(await timesOf(page), [before, now]);
        await page.locator('#swap').click();
        await page.waitForFunction((time) => runs.length === 2 && String(runs[1].time_ns) === time, one);
        assert.deepEqual(await timesOf(page), [['before', now[1]], ['now', one]]);
        await page.locator('#unpin').click();
        await page.waitForFunction(() => runs.length === 1);
        assert.deepEqual(await timesOf(page), [['now', one]]);
        assert.doesNotMatch(page.url(), /pin=/);
        await closePage(page);
    });

    test('what is drawn is pinned and swapped, whatever was refused since', async () => {
        const page = await openLab(browser, '#streams=1');
        const refused = () => setState(page, 'h200', { streams: '1', tiles: '0' });
        await refused();
        assert.ok(await page.locator('[data-copy]').first().isDisabled());
        await page.locator('#pin').click();
        await page.waitForFunction(() => !underway && !wanted);
        assert.match(await alertOf(page), /^The run of the picture is pinned\. tiles=0 is too small/);
        await setState(page, 'h200', { streams: '3' });
        const [before, now] = await timesOf(page);
        await refused();
        await page.locator('#swap').click();
        await page.waitForFunction(() => document.getElementById('alert').hidden);
        assert.deepEqual(await timesOf(page), [['before', now[1]], ['now', before[1]]]);
        const address = page.url();
        await page.getByRole('link', { name: 'Lessons' }).click();
        await page.locator('#lesson h1').waitFor();
        await page.getByRole('link', { name: 'Simulator' }).click();
        await page.locator('#pin').waitFor();
        assert.equal(page.url(), address);
        await closePage(page);
    });

    test('what was asked before a mystery was opened draws nothing there, and a newer run ends a slow one', async () => {
        const page = await openLab(browser);
        for (const tiles of ['100000', '0']) {
            await page.evaluate((asked) => {
                setState({ machine: 'h200', settings: { tiles: asked } });
                location.hash = 'mystery=3';
            }, tiles);
            await page.locator('#lesson-after fieldset.guess').waitFor();
            await page.waitForFunction(() => !underway && !wanted);
            assert.deepEqual([await alertOf(page), (await timesOf(page))[0][0]], ['', 'mystery 3']);
            await setState(page, 'h200', { streams: '0' });
            assert.match(await alertOf(page), /^streams=0 is too small/);
            assert.match((await timesOf(page))[0][0], /now|defaults/);
        }
        await page.evaluate(() => {
            setState({ machine: 'h200', settings: { tiles: '16M', elements: '1G' } }); // takes long
            setState({ machine: 'h200', settings: { streams: '1' } });
        });
        await page.waitForFunction(() => !underway && !wanted);
        assert.equal(await page.locator('#command').textContent(), 'pipeline -d sim:h200 --streams=1');
        await closePage(page);
    });

    test('a fix that is clicked gives the time that was predicted', async () => {
        const page = await openLab(browser);
        let clicked = 0;
        for (const { machine, settings } of await goodRuns(page, 40)) {
            await setState(page, machine, settings);
            const fixes = await page.evaluate(() => [...new Map([...runs[0].verdicts, runs[0].best].filter((fix) => fix?.command && fix.predicted_ns)
                .map((fix) => [fix.command, String(fix.predicted_ns)]))]);
            for (const [command, predicted] of fixes.slice(0, 2)) {
                await setState(page, machine, settings);
                await page.getByRole('button', { name: `Apply ${command}`, exact: true }).first().click();
                await page.waitForFunction(() => !underway && !wanted);
                const [[, time]] = await timesOf(page), what = `${command} after ${JSON.stringify({ machine, settings })}: ${await alertOf(page)}`;
                assert.equal(time, predicted, what);
                clicked++;
            }
        }
        assert.ok(clicked > 20, `${clicked} fixes`);
        await closePage(page);
    });

    test('the command line on the page gives the run on the page', async () => {
        const page = await openLab(browser);
        for (const { machine, settings, figures } of await goodRuns(page, 12)) {
            await setState(page, machine, settings);
            const [name, ...args] = (await page.locator('#command').textContent()).split(' '); // no shell: they need no quotes
            assert.equal(name, 'pipeline');
            const { out, error } = await pipeline(...args, '-q', '--no-data', '--format=json');
            assert.equal(error, '');
            assert.equal(nanoseconds(JSON.parse(out).runs[0].time_ms), figures.time);
        }
        await closePage(page);
    });

    test('the code is the command\'s, and stays open from run to run', async () => {
        const page = await openLab(browser);
        await page.locator('#code summary').click();
        for (const { machine, settings } of [{ machine: 'h200', settings: {} }, ...await goodRuns(page, 12)]) {
            await setState(page, machine, settings);
            await page.locator('#code p').first().waitFor();
            const [, ...args] = (await page.locator('#command').textContent()).split(' ');
            const { out, error } = await pipeline(...args, '-q', '--no-data', '--emit=-');
            const shown = page.locator('#code pre');
            if (error) assert.equal(words((await page.locator('#code p').last().textContent()).slice(0, -1)), words(error));
            else assert.equal(await shown.textContent(), out);
        }
        await closePage(page);
    });

    test('the command line is safe to paste', async () => {
        const page = await openLab(browser, "#machine=h100&priorities=-1, -2");
        assert.equal(await page.locator('#command').textContent(), 'pipeline -d sim:h100 --priorities=-1,-2');
        assert.equal(await page.evaluate(() => commandOf({ machine: 'h100', settings: { kernel: "a'; b $(c)" } })), "pipeline -d sim:h100 '--kernel=a'\\''; b $(c)'");
        await closePage(page);
    });

    test('the picture as a table has every span', async () => {
        const page = await openLab(browser, '#tiles=6');
        await page.locator('#table summary').click();
        const bars = await page.evaluate('runs[0].spans.length');
        await page.waitForFunction((rows) => document.querySelectorAll('#table tbody tr').length === rows, bars);
        await closePage(page);
    });
});
