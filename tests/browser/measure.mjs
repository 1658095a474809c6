// measure.mjs - how long the page's script takes to open and to step, by its number of spans, in a
// headless Chromium. Run by `make bench-browser`.
//
// "open" is the page's main thread from the file's first byte to the first picture: the script
// alone, and all of it (reading the file, style, layout, painting). "step" is a press of the arrow
// key: the script alone, and all that the main thread did until the picture was drawn, on average.
// "point" is the pointer coming onto a span, likewise; "show" is the same data drawn once more, in
// place of what is drawn. "all" is the thread's own time: a busy machine does not change it, as it
// does the others.
import { pathToFileURL } from 'node:url';
import { barsOf, launch, make } from './cases.mjs';

const STEPS = 100, SHOWN = 20;
const cases = [[1000, '333'], [10000, '3334'], [100000, '33333'], [1000000, '333334']]; // spans, tiles

async function metrics(session) {
    const { metrics: list } = await session.send('Performance.getMetrics');
    return Object.fromEntries(list.map(({ name, value }) => [name, 1000 * value]));
}

/* In the page: does `act` `count` times, a picture for each; gives the ms that each took. */
async function timings(count, act) {
    const found = [];
    for (let i = 0; i < count; i++) {
        const start = performance.now();
        act(i);
        found.push(performance.now() - start);
        await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
    }
    return found.sort((a, b) => a - b);
}

const browser = await launch();
console.log(`Chromium ${browser.version()}, times in ms`);
console.log('spans       drawn | open: script     all | step: median largest     all | point: median largest     all | show: median largest     all');
for (const [spans, tiles] of cases) {
    const file = make(`measure-${spans}`, ['-t', tiles, '-n', '64M', '-s', '4']);
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    const session = await page.context().newCDPSession(page);
    const act = async (code, count = STEPS) => {
        const before = await metrics(session), found = await page.evaluate(`(${timings})(${count}, ${code})`);
        const all = ((await metrics(session)).TaskDuration - before.TaskDuration) / count;
        return [found[found.length >> 1], found.at(-1), all].map((ms) => ms.toFixed(1).padStart(7)).join(' ');
    };
    page.on('pageerror', (error) => { throw error; });
    await session.send('Performance.enable', { timeDomain: 'threadTicks' }); // not what others take
    await page.goto(pathToFileURL(file).href);
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); }));
    const opened = await metrics(session), bars = (await barsOf(page)).length;
    const step = await act(`(i) => document.body.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true,
        key: i < ${STEPS / 2} ? 'ArrowRight' : 'ArrowLeft' }))`);
    const point = await act(`(i) => {
        const [run] = runs, span = run.spans[Math.floor(i / ${STEPS} * run.spans.length)], box = run.svg.getBoundingClientRect();
        if (span) run.svg.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientY: box.top + middle(span),
            clientX: box.left + share((span.start + span.end) / 2) * box.width }));
    }`);
    await page.evaluate(() => { globalThis.given = JSON.parse(element('data').textContent); });
    const shown = await act('() => show(given)', SHOWN);
    console.log(`${String(spans).padEnd(9)} ${String(bars).padStart(7)} | ${opened.ScriptDuration.toFixed(0).padStart(12)} ` +
        `${opened.TaskDuration.toFixed(0).padStart(7)} | ${step.padStart(28)} | ${point.padStart(29)} | ${shown.padStart(28)}`);
    await page.close();
}
await browser.close();
