// lab_measure.mjs - how long the lab page takes to open and to simulate and draw what a control asks
// for, by the number of ops, in a headless Chromium. Run by `make bench-browser`.
//
// "open" is from the start of the page's loading to its first picture: the simulator unpacked, compiled
// and run. "control" is from a control that is moved to the picture that is drawn: the settings
// simulated in the worker with all fixes tried, the data taken over, the page drawn. "engine" is the
// first of these alone, and "ops a second" counts the ops of the settings asked for: those of the fixes
// that are tried come on top, one to ten times as many. "main" is the time of the page's own thread,
// which a busy machine does not change.
import { statSync } from 'node:fs';
import { launch } from './cases.mjs';
import { labFile, noLab, openLab } from './lab_open.mjs';

const OPENED = 9, MOVES = 30;

const ms = (value) => value.toFixed(1).padStart(8);
const ordered = (list) => [...list].sort((a, b) => a - b);
const median = (list) => ordered(list)[list.length >> 1];
const largest = (list) => Math.max(...list);

async function mainThread(session) {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * metrics.find(({ name }) => name === 'TaskDuration').value;
}

async function session(page) {
    const made = await page.context().newCDPSession(page);
    await made.send('Performance.enable', { timeDomain: 'threadTicks' });
    return made;
}

/* In every page, before its own scripts: notes when the first picture was on the screen. */
const noteFirst = () => {
    new MutationObserver((changes, observer) => {
        if (!document.querySelector('.bar')) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => { globalThis.firstPicture = performance.now(); }));
    }).observe(document, { childList: true, subtree: true });
};

async function measureOpening(browser) {
    const walls = [];
    for (let i = 0; i < OPENED; i++) {
        const page = await openLab(browser, '', { script: noteFirst });
        await page.waitForFunction('globalThis.firstPicture');
        walls.push(await page.evaluate('firstPicture'));
        await page.context().close();
    }
    console.log(`lab page: ${statSync(labFile).size} bytes; open: median ${ms(median(walls))}, largest ${ms(largest(walls))}`);
}

/* In the page: moves the slider of streams to and fro; the ms from each to its picture. */
async function moveControl(count) {
    const slider = document.querySelector('[aria-label="streams, slider"]'), found = [];
    for (let i = 0; i < count; i++) {
        const start = performance.now();
        slider.value = Number(slider.value) + (i % 2 ? -1 : 1);
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        await new Promise((done) => {
            const look = () => (underway || wanted ? setTimeout(look) : requestAnimationFrame(() => setTimeout(done)));
            look();
        });
        found.push(performance.now() - start);
    }
    return found;
}

/* In the page: asks the simulator alone, as often. */
async function askEngine({ configs, count }) {
    const found = [];
    for (let i = 0; i < count; i++) {
        const start = performance.now();
        await engine.run(configs[i % configs.length]);
        found.push(performance.now() - start);
    }
    return found;
}

const browser = await launch();
if (noLab) {
    console.log(noLab);
} else {
    await measureOpening(browser);
    console.log('ops         | control: median  largest     main | engine: median  largest    ops a second');
    for (const [ops, tiles] of [[100, 34], [1000, 334], [10000, 3334], [100000, 33334], [1000000, 333334]]) {
        const moves = ops > 10000 ? 4 : MOVES, page = await openLab(browser, `#tiles=${tiles}`), thread = await session(page);
        await page.evaluate(moveControl, 2); // compiled
        const before = await mainThread(thread), walls = await page.evaluate(moveControl, moves);
        const main = (await mainThread(thread) - before) / moves;
        const configs = [4, 5].map((streams) => `[now]\ndevice = sim:h200\ntiles = ${tiles}\nstreams = ${streams}\n`);
        const alone = await page.evaluate(askEngine, { configs, count: moves });
        console.log(`${String(ops).padEnd(11)} | ${ms(median(walls)).padStart(15)} ${ms(largest(walls))} ${ms(main)} | ` +
            `${ms(median(alone)).padStart(14)} ${ms(largest(alone))} ${Math.round(1000 * ops / median(alone)).toString().padStart(14)}`);
        await page.context().close();
    }
}
await browser.close();
