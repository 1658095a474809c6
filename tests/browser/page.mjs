// page.mjs - the page in a headless Chromium: what is drawn, stepped through and pointed at must
// be what the CSV of the same run says. Run by `make check-browser`.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { axisOf, barsOf, closePage as close, folder, handMade, handMadePage, hasHandMade, launch, make, nameOf, openPage, ownCases, spansOf,
    timeOf } from './cases.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const open = (file, options) => openPage(browser, pathToFileURL(file).href, options);

const status = (page) => page.locator('#status').textContent();
const rowOfTip = (page, term) => page.locator(`#tip dt:text-is("${term}") + dd`).textContent();

/* The spans that are drawn once more, to be marked, as "run op", sorted. */
const barsWith = (page, selector) => page.evaluate((wanted) => runs.flatMap((run, r) =>
    [...run.section.querySelectorAll(wanted)].map((bar) => `${r} ${bar.span.op}`)).sort(), selector);
const barCount = async (page) => (await barsOf(page)).length;

/* What is drawn in each row, from the CSV: `rowOf` says which row a span is in. */
function checkBars(bars, spans, rowOf = () => '') {
    const axis = Number(axisOf(spans)), unit = (ns) => Math.round(Number(ns) / axis * 1e8);
    const inOrder = (list) => list.sort((a, b) => a.run - b.run || (a.row < b.row ? -1 : a.row > b.row ? 1 : 0) || a.from - b.from || a.to - b.to);
    const drawn = inOrder(bars.map(({ run, row, from, to }) => ({ run, row: rowOf.length ? row : '', from, to })));
    const expected = inOrder(spans.map((span) => ({ run: span.run, row: rowOf(span), from: unit(span.start_ns),
        to: Math.max(unit(span.end_ns), unit(span.start_ns) + 1) })));
    assert.deepEqual(drawn, expected);
}
const keysOf = (spans) => spans.map((span) => `${span.run} ${span.op}`).sort();

/* The middle of a span's bar, in the window. */
async function middleOf(page, span) {
    return page.evaluate(([r, op]) => {
        const run = runs[r], found = run.spans.find((one) => one.op === op);
        run.labels.children[found.row.index].scrollIntoView({ block: 'center' });
        const box = run.svg.getBoundingClientRect(), from = found.start / axis * box.width, to = found.end / axis * box.width;
        return { x: box.x + (from + to) / 2, y: box.y + (found.row.index + 0.5) * ROW, width: to - from };
    }, [span.run, Number(span.op)]);
}

describe('every page', () => {
    for (const name of ownCases) {
        test(`${name}: no complaint, a bar per span of the CSV`, async () => {
            const file = make(name), spans = spansOf(file), page = await open(file);
            assert.ok(spans.length > 0);
            checkBars(await barsOf(page), spans);
            assert.deepEqual([...new Set(await page.locator('.run h2').evaluateAll((all) => all.map((one) => one.firstChild.data)))],
                [...new Set(spans.map((span) => span.name_of_run))]);
            assert.equal(await page.locator('.limit').count(), 1 + new Set(spans.map((span) => span.run)).size);
            await page.screenshot({ path: join(folder, `${name}.png`) });
            await close(page);
        });
    }

    /* By engines an arrow ends in the row of the receiver's kernels, by streams in the first of its streams. */
    test('copies to other devices have arrows to them', async () => {
        const file = make('peers', ['--device=sim:h200*3', '-t', '6', '-n', '24M', '-k', 'scale,scale,scale', '--spread=chain']);
        const copies = spansOf(file).filter(({ kind }) => kind === 'peer'), page = await open(file);
        const hands = () => page.evaluate(() => [...document.querySelectorAll('.hand')].map((hand) => ({
            at: parseFloat(hand.getAttribute('x1')), label: runs[0].rows[Math.floor(hand.getAttribute('y2') / ROW)].label,
        })).sort((a, b) => a.at - b.at));
        const wanted = (row) => copies.map(({ name, end_ns }) => ({ end: Number(end_ns), label: row(Number(name.match(/^to device (\d)$/)[1])) }))
            .sort((a, b) => a.end - b.end);
        assert.equal(copies.length, 12);
        const drawn = await hands();
        assert.deepEqual(drawn.map(({ label }) => label), wanted((to) => `GPU ${to} kernel`).map(({ label }) => label));
        const axis = await page.evaluate(() => axis);
        wanted(() => '').forEach(({ end }, i) => assert.ok(Math.abs(drawn[i].at - 100 * end / axis) < 1e-4));
        await page.click('#streams');
        assert.equal((await hands()).length, 12);
        await close(page);
    });

    for (const name of handMade) {
        test(`${name}: opens`, { skip: !hasHandMade && 'written by the C suite' }, async () => {
            const file = handMadePage(name), spans = spansOf(file), page = await open(file);
            const drawn = name === 'many' ? 0 : spans.length;
            assert.equal(await barCount(page), drawn);
            if (name === 'many') assert.ok(await page.locator('.column').count() > 0);
            if (['many', 'empty', 'profiled', 'recorded_many'].includes(name)) assert.ok(await page.locator('.note').count() > 0);
            if (name === 'foreign') assert.equal(await page.locator('.limit').count(), 0);
            for (const key of ['ArrowRight', 'End', 'ArrowLeft', 'Home', 'n', 'e', 'c', '+', ']', '[', '-', '0', 'p', 'Escape']) await page.keyboard.press(key);
            assert.equal(await barCount(page), drawn);
            await page.screenshot({ path: join(folder, `${name}.png`) });
            await close(page);
        });
    }
});

/* The events of run `r`, from the CSV: [time, names that end, names that start]. */
function eventsOf(spans, r) {
    const own = spans.filter((span) => span.run === r);
    const times = [...new Set(own.flatMap((span) => [span.start_ns, span.end_ns]))].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const text = (list, verb = '') => {
        const names = list.slice(0, 8).map(nameOf).join(', ') + (list.length > 8 ? ` and ${list.length - 8} more` : '');
        return list.length ? names + (verb ? ` ${verb}${list.length > 1 ? '' : 's'}` : '') : '';
    };
    return times.map((time, i) => {
        const happens = [text(own.filter((span) => span.end_ns === time), 'end'), text(own.filter((span) => span.start_ns === time), 'start')];
        const running = own.filter((span) => span.start_ns <= time && span.end_ns > time);
        return { time, status: `${own[0].name_of_run}, event ${i + 1} of ${times.length}, ${timeOf(time)}: ` +
            `${[...happens.filter(Boolean), 'then running'].join('; ')}: ${text(running) || 'nothing'}.` };
    });
}

describe('steps', () => {
    for (const [name, r] of [['ways', 2], ['ways', 3], ['stage', 0], ['callbacks', 0]]) {
        test(`${name}, run ${r}: forwards and back, event by event`, async () => {
            const file = make(name), spans = spansOf(file), page = await open(file);
            const events = eventsOf(spans, r), axis = axisOf(spans);
            const check = async (event) => {
                assert.equal(await status(page), event.status);
                const x = parseFloat(await page.locator('.cursor').getAttribute('x1'));
                assert.ok(Math.abs(x - Number(event.time) / Number(axis) * 100) < 1e-6, `${x}%`);
                assert.deepEqual(await barsWith(page, '.on'), keysOf(spans.filter((span) => span.start_ns <= event.time &&
                    (span.end_ns > event.time || span.start_ns === event.time))));
            };
            await page.keyboard.press(String(r + 1));
            await page.keyboard.press('ArrowLeft');
            assert.equal(await page.locator('.cursor').count(), 0);
            for (const event of events) {
                await page.keyboard.press('ArrowRight');
                await check(event);
            }
            await page.keyboard.press('ArrowRight'); // stays at the last
            await check(events.at(-1));
            for (const event of events.slice(0, -1).reverse()) {
                await page.keyboard.press('ArrowLeft');
                await check(event);
            }
            await page.keyboard.press('End');
            await check(events.at(-1));
            await page.keyboard.press('Home');
            await check(events[0]);
            await page.keyboard.press('Escape');
            assert.deepEqual(await barsWith(page, '.on'), []);
            await close(page);
        });
    }

    test('a click goes to the event before it; back goes there again', async () => {
        const file = make('ways'), spans = spansOf(file), page = await open(file);
        const wanted = spans.find((span) => span.run === 2 && span.kind === 'h2d' && span.tile === '8');
        const { x, y } = await middleOf(page, wanted);
        await page.mouse.click(x, y);
        assert.match(await status(page), /^3-way, event/);
        const box = await page.locator('#over').boundingBox();
        const cursor = parseFloat(await page.locator('.cursor').getAttribute('x1'));
        assert.ok(box.x + box.width * cursor / 100 <= x);
        await page.keyboard.press('1'); // another run, at the same time: between two of its events
        const before = parseInt((await status(page)).match(/event (\d+)/)[1], 10);
        await page.keyboard.press('ArrowLeft');
        assert.match(await status(page), new RegExp(`event ${before} `));
        await close(page);
    });

    test('plays by itself, and stops', async () => {
        const page = await open(make('one'));
        await page.keyboard.press(' ');
        await page.waitForFunction(() => document.getElementById('status').textContent.includes('event 3 of'));
        await page.keyboard.press(' ');
        assert.equal(await page.locator('#play').getAttribute('aria-pressed'), 'false');
        await close(page);
    });
});

describe('pointing', () => {
    test('a span shows what the CSV says of it, and its tile\'s path', async () => {
        for (const name of ['ways', 'callbacks']) {
            const file = make(name), spans = spansOf(file), page = await open(file);
            let seen = 0;
            for (const span of spans.filter((one, i) => one.kind !== 'wait' && i % 7 === 0)) {
                const { x, y, width } = await middleOf(page, span);
                if (width < 3) continue;
                await page.mouse.move(x, y);
                seen++;
                assert.equal(await page.locator('#tip strong').textContent(), nameOf(span));
                assert.equal(await rowOfTip(page, 'run'), span.name_of_run);
                assert.equal(await rowOfTip(page, 'issued'), timeOf(span.issue_ns));
                assert.equal(await rowOfTip(page, 'starts'), timeOf(span.start_ns));
                assert.equal(await rowOfTip(page, 'ends'), timeOf(span.end_ns));
                assert.equal(await rowOfTip(page, 'lasts'), timeOf(span.end_ns - span.start_ns));
                if (span.kind !== 'cpu') assert.equal(await rowOfTip(page, 'stream'), span.stream);
                assert.deepEqual(await barsWith(page, '.path'),
                    keysOf(spans.filter((one) => one.run === span.run && one.tile === span.tile && one.kind !== 'wait')));
            }
            assert.ok(seen > 3, `${seen} spans of ${name}`);
            await page.mouse.move(1, 1);
            assert.equal(await page.locator('#tip').isVisible(), false);
            assert.deepEqual(await barsWith(page, '.path'), []);
            await close(page);
        }
    });

    test('a gap shows how long the engine was idle, and why', async () => {
        const file = make('ways'), spans = spansOf(file), page = await open(file);
        const words = { h2d: 'H2D', compute: 'kernel', d2h: 'D2H' };
        let seen = 0;
        for (let r = 0; r < 4; r++) for (const engine of Object.keys(words)) {
            const own = spans.filter((span) => span.run === r && span.engine === engine).sort((a, b) => Number(a.start_ns - b.start_ns));
            for (let i = 0; i < own.length; i++) {
                const from = i ? own[i - 1].end_ns : 0n, to = own[i].start_ns;
                const box = await page.locator('.run').nth(r).locator('.bars').boundingBox();
                const { y } = await middleOf(page, own[i]), axis = axisOf(spans);
                const width = Number(to - from) / Number(axis) * box.width;
                if (width < 6 || i % 5 !== 0) continue;
                await page.mouse.move(box.x + Number(from) / Number(axis) * box.width + width / 2, y);
                seen++;
                assert.equal(await page.locator('#tip strong').textContent(), `${words[engine]} idle for ${timeOf(to - from)}`);
                assert.equal(await rowOfTip(page, 'then'), nameOf(own[i]));
                assert.match(await rowOfTip(page, 'why then'), /\w+ .*\w+/);
                assert.notEqual(await rowOfTip(page, 'why then'), 'not known');
                assert.equal(await page.locator('.gap').count(), 1);
                assert.ok((await barsWith(page, '.path')).includes(`${r} ${own[i].op}`));
            }
        }
        assert.ok(seen > 5, `${seen} gaps`);
        await close(page);
    });

    test('n and p show the spans in order of start', async () => {
        const file = make('stage'), page = await open(file);
        const spans = spansOf(file).sort((a, b) => Number(a.start_ns - b.start_ns) || Number(a.op) - Number(b.op));
        for (const key of ['n', 'n', 'n', 'p']) await page.keyboard.press(key);
        assert.equal(await page.locator('#tip strong').textContent(), nameOf(spans[1]));
        assert.ok((await status(page)).startsWith(`${nameOf(spans[1])}, ${timeOf(spans[1].start_ns)} to `));
        await close(page);
    });
});

describe('views', () => {
    test('streams: the same bars, each on the row of its stream', async () => {
        for (const name of ['ways', 'breadth', 'callbacks', 'stage']) {
            const file = make(name), spans = spansOf(file), page = await open(file);
            await page.keyboard.press('e');
            assert.equal(await page.locator('#streams').getAttribute('aria-pressed'), 'true');
            checkBars(await barsOf(page), spans, (span) => (span.engine === 'cpu' ? 'CPU' : `stream ${span.stream}`));
            await page.locator('#engines').click();
            assert.equal(await barCount(page), spans.length);
            await close(page);
        }
    });

    test('critical path: a chain to the last end, and nothing else is marked', async () => {
        const file = make('ways'), spans = spansOf(file), page = await open(file);
        await page.keyboard.press('c');
        const bars = await barsOf(page), axis = Number(axisOf(spans)), engines = { H2D: 'h2d', kernel: 'compute', D2H: 'd2h', CPU: 'cpu' };
        const unit = (ns) => Math.round(Number(ns) / axis * 1e8);
        const marked = [0, 1, 2, 3].map((r) => bars.filter((bar) => bar.run === r && bar.opacity === 1));
        marked.forEach((clear, r) => {
            const own = spans.filter((span) => span.run === r);
            const path = own.filter((span) => clear.some((bar) => engines[bar.row.split(' ')[0]] === span.engine &&
                (bar.row.split(' ')[1] ?? span.lane) === span.lane && bar.from === unit(span.start_ns) && bar.to === unit(span.end_ns))).sort((a, b) => Number(a.start_ns - b.start_ns));
            assert.equal(path.length, clear.length);
            const last = own.reduce((most, span) => (span.end_ns > most ? span.end_ns : most), 0n);
            assert.ok(path.length > 0 && path.every((span) => span.kind !== 'wait'));
            assert.equal(path.at(-1).end_ns, last);
            path.slice(1).forEach((span, i) => assert.ok(path[i].end_ns <= span.start_ns, `${nameOf(path[i])} and ${nameOf(span)}`));
        });
        assert.match(await status(page), new RegExp(`^The critical path of serial: ${marked[0].length} spans`));
        await page.keyboard.press('c');
        assert.ok((await barsOf(page)).every((bar) => bar.opacity === 1));
        await close(page);
    });

    test('zoom keeps the cursor in sight, and back', async () => {
        const page = await open(make('stage'));
        for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowRight');
        const place = () => page.locator('.cursor').evaluate((line) => line.getBoundingClientRect().left);
        const width = () => page.locator('#over').evaluate((over) => over.getBoundingClientRect().width);
        const before = await place(), narrow = await width();
        for (let i = 0; i < 6; i++) await page.keyboard.press('+');
        assert.ok(Math.abs(await place() - before) < 2);
        assert.ok(await width() > 11 * narrow);
        await page.locator('#plot').evaluate((plot) => { plot.scrollLeft = 0; });
        await page.keyboard.press('ArrowRight');
        assert.ok(await place() > 0 && await place() < 1280);
        await page.keyboard.press('0');
        assert.ok(Math.abs(await width() - narrow) < 1);
        await close(page);
    });

    test('the keys are listed, and every key that is listed does something', async () => {
        const page = await open(make('one'));
        await page.keyboard.press('?');
        assert.equal(await page.locator('#keys').isVisible(), true);
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('#keys').isVisible(), false);
        await page.locator('button[data-key="ArrowRight"]').click();
        assert.match(await status(page), /event 1 of/);
        await close(page);
    });

    test('printed: all runs, the legend, no tools, light', async () => {
        const page = await open(make('ways'), { colorScheme: 'dark' });
        await page.keyboard.press('ArrowRight');
        await page.emulateMedia({ media: 'print' });
        assert.equal(await page.locator('#tools').isVisible(), false);
        assert.equal(await page.locator('#status').isVisible(), false);
        assert.equal(await page.locator('#legend').isVisible(), true);
        assert.equal(await page.locator('.bars').count(), 4);
        assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
        const pdf = await page.pdf({ path: join(folder, 'ways.pdf'), preferCSSPageSize: true, printBackground: true });
        assert.ok(pdf.length > 10000);
        await close(page);
    });

    test('the table says what the picture shows, once it is opened', async () => {
        const file = make('ways'), spans = spansOf(file), page = await open(file);
        assert.equal(await page.locator('#table tr').count(), 0);
        await page.locator('#table summary').focus();
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => document.querySelector('#table tr'));
        const listed = await page.locator('#table table').evaluateAll((tables) => tables.map((table) =>
            [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))));
        assert.equal(listed.length, 4);
        listed.forEach((rows, r) => assert.deepEqual(rows.map(([name, stream, tile, ...times]) => [name, stream, tile, ...times].join()).sort(),
            spans.filter((span) => span.run === r).map((span) => [nameOf(span), span.engine === 'cpu' ? '' : span.stream, span.tile,
                timeOf(span.start_ns), timeOf(span.end_ns)].join()).sort()));
        await close(page);
        const large = await open(make('large'));
        await large.locator('#table summary').click();
        await large.waitForFunction(() => document.querySelector('#table tr'));
        assert.equal(await large.locator('#table tbody tr').count(), 300);
        assert.match(await large.locator('#table').textContent(), /The first 300 of [\d,]+ spans/);
        await close(large);
    });

    test('buttons can be hit with a finger, at 400 px, too', async () => {
        const page = await open(make('ways'), { viewport: { width: 400, height: 800 } });
        const small = await page.evaluate(() => [...document.querySelectorAll('#tools button, summary, .run h2')].filter((one) => {
            const { width, height } = one.getBoundingClientRect();
            return width < 24 || height < 24;
        }).map((one) => one.textContent));
        assert.deepEqual(small, []);
        await close(page);
    });

    test('dark and light, narrow and wide: nothing is wider than the window', async () => {
        const file = make('ways'), grounds = [];
        for (const [width, height] of [[1280, 720], [1920, 1080], [600, 900], [400, 800]]) for (const colorScheme of ['light', 'dark']) {
            const page = await open(file, { viewport: { width, height }, colorScheme });
            grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
            for (let i = 0; i < 9; i++) await page.keyboard.press('ArrowRight');
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && plot.scrollWidth <= plot.clientWidth));
            await page.locator('#table summary').click();
            await page.waitForFunction(() => document.querySelector('#table tr'));
            assert.ok(await page.evaluate(() => [...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)));
            await page.screenshot({ path: join(folder, `ways-${colorScheme}-${width}.png`) });
            await close(page);
        }
        assert.equal(new Set(grounds).size, 2);
    });
});

describe('shown again', () => {
    /* All that is drawn, but for what says when a reader pointed at it. */
    const picture = (page) => page.evaluate(() => ['runs', 'legend', 'why', 'table', 'about', 'title', 'summary', 'ticks', 'status']
        .map((id) => document.getElementById(id).innerHTML));
    const dataOf = (page) => page.evaluate(() => document.getElementById('data').textContent);

    test('other data takes the place of what was drawn, and what was comes back', async () => {
        const page = await open(make('ways')), first = await picture(page);
        const other = await open(make('chain')), otherData = await dataOf(other), second = await picture(other);
        await close(other);
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('n');
        await page.evaluate((text) => show(JSON.parse(text)), otherData);
        assert.deepEqual(await picture(page), second);
        assert.equal(await page.locator('.cursor').count(), 0);
        assert.equal(await page.locator('#tip').isVisible(), false);
        await page.evaluate(() => { // data may be shown twice: show() leaves them alone
            globalThis.own = JSON.parse(document.getElementById('data').textContent);
            show(own);
            show(own);
        });
        assert.deepEqual(await picture(page), first);
        await page.keyboard.press('ArrowRight'); // is heard once
        assert.match(await status(page), /, event 1 of /);
        await close(page);
    });

    test('rows, critical path, run and zoom stay; the zoom only on a like axis', async () => {
        const page = await open(make('ways'));
        const zoomed = () => page.evaluate(() => zoom);
        for (const key of ['e', '3', 'c', '+', '+']) await page.keyboard.press(key);
        const before = await zoomed();
        await page.evaluate(() => show({ ...data, axis_ns: 1.1 * data.axis_ns }));
        assert.equal(await page.locator('#streams').getAttribute('aria-pressed'), 'true');
        assert.equal(await page.locator('#critical').getAttribute('aria-pressed'), 'true');
        assert.equal(await page.evaluate(() => document.body.classList.contains('show-critical')), true);
        assert.match(await page.locator('.run.active h2').textContent(), /^3-way/);
        assert.match((await page.locator('.labels b').allTextContents())[0], /^stream/);
        assert.equal(await zoomed(), before);
        await page.evaluate(() => show({ ...data, axis_ns: 10 * data.axis_ns }));
        assert.equal(await zoomed(), 1);
        await page.evaluate(() => show({ ...data, runs: [] })); // nothing to draw is drawn, too
        assert.equal(await page.locator('.run').count(), 0);
        assert.equal(await status(page), 'There is no span to step through.');
        await close(page);
    });

    test('two hundred times takes no more memory than once', async () => {
        const page = await open(make('chain')), session = await page.context().newCDPSession(page);
        const held = async () => {
            await session.send('HeapProfiler.collectGarbage');
            return session.send('Memory.getDOMCounters');
        };
        const again = (count) => page.evaluate((times) => {
            for (let i = 0; i < times; i++) {
                show(JSON.parse(document.getElementById('data').textContent));
                choose(1);
                step(1);
            }
        }, count);
        await again(20);
        const before = await held();
        await again(200);
        const then = await held();
        assert.ok(then.nodes < 1.5 * before.nodes, `${before.nodes} and ${then.nodes} nodes`);
        assert.ok(then.jsEventListeners <= before.jsEventListeners + 10, `${before.jsEventListeners} and ${then.jsEventListeners} listeners`);
        await close(page);
    });

    test('a page without what stands beside draws its picture', async () => {
        const page = await open(make('chain'));
        await page.evaluate(() => {
            for (const id of ['title', 'summary', 'why', 'table', 'about']) document.getElementById(id).remove();
            show(data);
        });
        assert.equal(await barCount(page), spansOf(make('chain')).length);
        await close(page);
    });
});

describe('a recording', { skip: !hasHandMade && 'written by the C suite' }, () => {
    const rowsOf = (page) => page.locator('.labels b').allTextContents();

    test('its threads have rows, in both views', async () => {
        const page = await open(handMadePage('recorded'));
        assert.equal(await page.locator('.call').count(), 48 + 2); // and in the legend
        assert.equal(await page.locator('.call.holds').count(), 16 + 1);
        assert.deepEqual((await rowsOf(page)).slice(-2), ['thread 0', 'NVTX 0']);
        await page.keyboard.press('e');
        assert.deepEqual((await rowsOf(page)).slice(-2), ['thread 0', 'NVTX 0']);
        assert.equal(await page.locator('.call').count(), 48 + 2);
        assert.match(await page.locator('.bars').getAttribute('aria-label'), /48 calls to CUDA/);
        await close(page);
    });

    test('an op shows the call that issued it, a call its ops, a range its name', async () => {
        const file = handMadePage('recorded'), page = await open(file);
        const copy = spansOf(file).filter((span) => span.kind === 'h2d')[3], { x, y } = await middleOf(page, copy);
        await page.mouse.move(x, y);
        assert.equal(await rowOfTip(page, 'issued by'), 'cudaMemcpyAsync of thread 0');
        assert.equal(await rowOfTip(page, 'called'), '600 us, 5 us before; took 2 us');
        assert.equal(await rowOfTip(page, 'source'), 'fit.cu:31');
        assert.equal(await rowOfTip(page, 'host memory'), 'pageable');
        assert.equal(await page.locator('.chosen').count(), 1);
        const pointAt = async (item) => {
            const box = await (await page.evaluateHandle(item)).boundingBox();
            await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
        };
        await pointAt('runs[0].calls[14].bar');
        assert.equal(await page.locator('#tip strong').textContent(), 'cudaStreamSynchronize');
        assert.equal(await rowOfTip(page, 'source'), '/home/me/fit.cu:88');
        assert.equal(await rowOfTip(page, 'lasts'), '164 us');
        await pointAt('runs[0].ranges[0].bar');
        assert.equal(await page.locator('#tip strong').textContent(), 'work');
        await close(page);
    });

    test('calls are gone through by key, and said', async () => {
        const page = await open(handMadePage('recorded'));
        await page.keyboard.press(']');
        assert.equal(await status(page), 'cudaMemcpyAsync of thread 0, 0 ns to 2 us, 2 us, at fit.cu:31.');
        await page.keyboard.press(']');
        await page.keyboard.press(']');
        assert.equal(await status(page), 'cudaStreamSynchronize of thread 0, 6 us to 150 us, 144 us, at /home/me/fit.cu:90.');
        await page.keyboard.press('[');
        assert.match(await status(page), /^cudaLaunchKernel of thread 0, 3 us to/);
        await page.keyboard.press('n');
        assert.match(await status(page), /; issued .* before by cudaMemcpyAsync of thread 0 at fit\.cu:31\.?$/);
        await close(page);
    });

    test('too many calls are drawn by columns, the spans one by one', async () => {
        const page = await open(handMadePage('recorded_many'));
        assert.equal(await barCount(page), 1);
        assert.ok(await page.locator('.column.holds').count() > 0);
        assert.match(await page.locator('.note').textContent(), /^100,001 calls to CUDA/);
        await close(page);
    });
});
