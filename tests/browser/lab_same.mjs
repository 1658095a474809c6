// lab_same.mjs - the simulator of the lab page against the command: random settings, over all machines,
// kernels, mistakes and options, must give the same nanoseconds and verdicts, and be refused in the same
// words. Run by `make check-browser`; LAB_SEED and LAB_RUNS say which settings, and how many.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, spansOf } from './cases.mjs';
import { figuresOfPage, simulate, timelineOf, words } from './lab_command.mjs';
import { configOf, drawRuns } from './lab_draw.mjs';
import { noLab, openLab } from './lab_open.mjs';

const seed = Number(process.env.LAB_SEED ?? 1), count = Number(process.env.LAB_RUNS ?? 500);
const SPANS_OF = 50; // so many runs are compared span by span
const GROUP = 25; // runs of one process, and of one call to the page

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/* In the page: simulates each config, and gives its figures or its refusal; the data too, where asked for. */
async function simulateInPage({ configs, whole }) {
    const found = [];
    for (const config of configs) {
        try {
            const data = await engine.run(config), { spans, columns, gaps, ...figures } = data.runs[0];
            found.push(whole ? { figures, spans, kinds: data.kinds, engines: data.engines } : { figures });
        } catch (error) {
            found.push({ refusal: error.message });
        }
    }
    return found;
}

async function answersOfPage(page, runs, whole = false) {
    const found = await page.evaluate(simulateInPage, { configs: runs.map((run) => configOf([run])), whole });
    return found.map(({ figures, refusal, ...rest }) => (figures ? { ...rest, figures: figuresOfPage(figures) } : { refusal: words(refusal) }));
}

/* The command's answers, in one process for all runs that the page accepts, and one for each other. */
async function answersOfCommand(runs, accepted) {
    const found = new Map(), groups = runs.filter((run, i) => !accepted[i]).map((run) => [run]);
    const good = runs.filter((run, i) => accepted[i]);
    if (good.length) groups.push(good);
    for (const group of groups) (await simulate(group)).forEach((answer, i) => found.set(group[i], answer));
    return runs.map((run) => found.get(run));
}

const titleOf = (run) => `LAB_SEED=${seed}, ${run.name}:\n${configOf([run])}`;

test(`${count} random settings: as the command`, { skip: noLab }, async (t) => {
    const page = await openLab(browser), catalogue = await page.evaluate('catalogue');
    const runs = drawRuns(catalogue, seed, count), wrong = [];
    let accepted = 0, spent = 0;
    for (let first = 0; first < runs.length; first += GROUP) {
        const group = runs.slice(first, first + GROUP), start = performance.now(), shown = await answersOfPage(page, group);
        spent += performance.now() - start;
        const given = await answersOfCommand(group, shown.map(({ figures }) => figures));
        group.forEach((run, i) => {
            accepted += given[i].figures ? 1 : 0;
            try {
                assert.deepEqual({ figures: shown[i].figures, refusal: shown[i].refusal },
                    { figures: given[i].figures, refusal: given[i].refusal });
            } catch (error) {
                wrong.push(`${titleOf(run)}${error.message}`);
            }
        });
    }
    t.diagnostic(`${count - wrong.length} of ${count} the same, ${accepted} of them simulated; ${(spent / 1000).toFixed(1)} s in the page`);
    assert.deepEqual(wrong.slice(0, 5), []);
    assert.equal(wrong.length, 0);
    assert.ok(accepted > count / 2, `only ${accepted} were simulated`);
    assert.deepEqual(page.complaints, []);
});

/* The spans of the page's data, with the names that the CSV has. */
const spansOfPage = ({ spans, kinds, engines }) => spans.map(([op, kind, link, on, lane, stream, tile, bytes, issue, start, end]) =>
    [op, kinds[kind].name, engines[on]?.name ?? '', lane, stream, tile, bytes, issue, start, end].map(String));

test(`${SPANS_OF} of them: every span as --timeline writes it`, { skip: noLab }, async () => {
    const page = await openLab(browser), catalogue = await page.evaluate('catalogue');
    const runs = drawRuns(catalogue, seed, count);
    let seen = 0;
    for (let i = 0; i < runs.length && seen < Math.min(SPANS_OF, count / 4); i++) {
        const [shown] = await answersOfPage(page, [runs[i]], true);
        if (!shown.figures) continue;
        const rows = spansOf(await timelineOf(runs[i])).map((span) => [span.op, span.kind, span.engine, span.lane, span.stream,
            span.tile === '' ? -1 : span.tile, span.bytes, span.issue_ns, span.start_ns, span.end_ns].map(String));
        assert.deepEqual(spansOfPage(shown), rows, titleOf(runs[i]));
        seen++;
    }
    assert.ok(seen > 0);
    assert.deepEqual(page.complaints, []);
});
