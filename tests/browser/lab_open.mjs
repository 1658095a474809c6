// lab_open.mjs - the lab page in a headless Chromium.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { folder, openPage } from './cases.mjs';

export const labFile = join(folder, 'lab.html'); // of `pipeline lab`; run.sh writes it
export const noLab = !existsSync(labFile) && 'this build has no lab page';

/* Opens the lab page with `hash` in its address; resolves when there is a picture, or a line why not. */
export async function openLab(browser, hash = '', { file = labFile, ...options } = {}) {
    const page = await openPage(browser, `${pathToFileURL(file).href}${hash}`, options);
    await page.waitForFunction(() => document.querySelector('.bar, .column, #lesson h1') || !document.getElementById('alert').hidden);
    return page;
}

/* Makes `next` the page's state; resolves when it is drawn. */
export const setState = (page, machine, settings) => page.evaluate((next) => globalThis.setState(next), { machine, settings });

/* The line of refusals; '' where there is none. */
export const alertOf = (page) => page.evaluate(() => (document.getElementById('alert').hidden ? '' : document.getElementById('alert').textContent));
