// cases.mjs - the pages that the browser looks at, and the CSV that says what must be on them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';

const { PIPELINE = 'build/pipeline', PAGES = 'build/browser', CHROMIUM = '/usr/bin/chromium' } = process.env;
export const folder = resolve(PAGES);

export function launch() {
    return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}

/* Opens a page of which nothing may be complained and that may ask no network for anything. */
export async function openPage(browser, address, { script, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options });
    context.setDefaultTimeout(120000); // for a slow and busy machine
    const page = await context.newPage();
    page.complaints = [];
    page.on('console', (message) => page.complaints.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => page.complaints.push(`error: ${error.message}`));
    page.on('request', (request) => /^(file|blob):/.test(request.url()) || page.complaints.push(`asks for ${request.url()}`));
    page.on('dialog', (dialog) => { page.complaints.push('a dialog'); dialog.dismiss(); });
    if (script) await page.addInitScript(script);
    await page.goto(address);
    return page;
}

export async function closePage(page) {
    assert.deepEqual(page.complaints, []);
    await page.context().close();
}

/* What axe-core finds of impact serious or critical: "rule: what is wrong: of which elements". */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export async function axeFindings(page) {
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => (await axe.run(document, { resultTypes: ['violations'] })).violations
        .map(({ id, impact, help, nodes }) => ({ id, impact, help, targets: nodes.map((node) => node.target.join(' ')) })));
    return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
        .map(({ id, help, targets }) => `${id}: ${help}: ${targets.slice(0, 5).join(', ')}${targets.length > 5 ? ` and ${targets.length - 5} more` : ''}`);
}

/* The options with which `pipeline` makes each page, by the name of the page. */
const commands = {
    ways: ['configs/ways.ini'],
    stage: ['-t', '12', '-n', '12M', '--layout', 'stage'],
    breadth: ['-t', '64', '-n', '16M', '-s', '32', '--order', 'breadth'],
    callbacks: ['-t', '8', '-n', '8M', '--callbacks', '-k', 'scale,sum'],
    chain: ['-t', '16', '-n', '16M', '-k', 'scale,scale,scale', '-s', '3'],
    one: ['-t', '1', '-n', '1M'],
    names: [join(folder, 'names.ini')],
    large: ['-t', '3400', '-n', '64M'],
};
const hostile = '[<script>alert(1)</script>]\ntiles = 3\n\n[a, "b" & </script> c\\u0041]\ntiles = 2\n\n' +
    '[__proto__]\ntiles = 1\n';

/* Runs `pipeline` on the simulator, once for each name; the page and the CSV come out of one run. */
const made = new Set();
export function make(name, args = commands[name]) {
    const page = join(folder, `${name}.html`), csv = join(folder, `${name}.csv`);
    if (made.has(name)) return page;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'names.ini'), hostile);
    execFileSync(resolve(PIPELINE), ['-q', '--gantt=none', '--device=sim:h200', '--no-data', `--timeline=${page}`,
        `--timeline=${csv}`, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
    made.add(name);
    return page;
}

export const ownCases = Object.keys(commands);

/* Those that the C suite wrote: reports that no run gives. */
export const handMade = ['hostile', 'empty', 'nothing', 'zero', 'huge', 'foreign', 'profiled', 'lanes', 'many', 'recorded',
    'recorded_many'];
export const handMadePage = (name) => join(folder, `${name}.html`);
export const hasHandMade = existsSync(handMadePage(handMade[0]));

/* Records of a CSV as RFC 4180 has it, under lines of comment. */
function records(text) {
    const found = [];
    let at = 0, record = [];
    while (text[at] === '#') at = text.indexOf('\n', at) + 1;
    while (at < text.length) {
        let field = '';
        if (text[at] === '"') {
            for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
                field += text[at];
                if (text[at] === '"') at++;
            }
            at++;
        } else {
            while (!',\n'.includes(text[at])) field += text[at++];
        }
        record.push(field);
        if (text[at++] === '\n') {
            found.push(record);
            record = [];
        }
    }
    return found;
}

/* The spans of a page, as the CSV beside it has them: times are BigInts; `run` is a number. */
export function spansOf(page) {
    const [header, ...rows] = records(readFileSync(page.replace(/html$/, 'csv'), 'utf8'));
    const runs = [];
    return rows.map((row) => {
        const span = Object.fromEntries(header.map((name, i) => [name, row[i]]));
        if (!runs.includes(span.run)) runs.push(span.run);
        for (const time of ['issue_ns', 'start_ns', 'end_ns']) span[time] = BigInt(span[time]);
        return { ...span, name_of_run: span.run, run: runs.indexOf(span.run) };
    });
}

/* The length of the time axis, ns. */
export const axisOf = (spans) => spans.reduce((most, span) => (span.end_ns > most ? span.end_ns : most), 0n);

/* Every bar that the page draws: its run, its row, from where to where of a hundred millionths of the
 * time axis, and how opaque it is. Bars that look alike are one path. */
export const barsOf = (page) => page.evaluate(() => [...document.querySelectorAll('.run')].flatMap((section, run) => {
    const labels = [...section.querySelectorAll('.labels b')];
    return [...section.querySelectorAll('path.bar')].flatMap((path) => {
        const top = path.ownerSVGElement.getBoundingClientRect().top;
        const label = labels.find((one) => one.parentElement.getBoundingClientRect().bottom > top + 1);
        return [...path.getAttribute('d').matchAll(/M(\d+) \S+h(\d+)/g)].map(([, from, width]) => ({ run, row: label.textContent,
            from: Number(from), to: Number(from) + Number(width), opacity: Number(getComputedStyle(path).opacity) }));
    });
}));

/* Returns the name that the page shows for a span, so that tests can find it. */
export const nameOf = (span) => (span.kind === 'wait' ? `wait for ${span.name}`
    : span.name + (span.tile === '' ? '' : ` ${span.tile}`));

/* "1.25 ms", without arithmetic in floating point. */
export function timeOf(ns) {
    const [unit, digits] = [['s', 9], ['ms', 6], ['us', 3], ['ns', 0]].find(([, many]) => ns >= 10n ** BigInt(many)) ?? ['ns', 0];
    const size = 10n ** BigInt(digits), rest = String(ns % size).padStart(digits, '0').replace(/0+$/, '');
    return `${ns / size}${digits && rest ? `.${rest}` : ''} ${unit}`;
}
