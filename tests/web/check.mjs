// Opens reports in Chromium as readers do, and asks axe and html-validate. Speaks TAP.
//
//	node check.mjs REPORT.html...
//
// The first is looked at in every view, the others in one.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { basename } from 'node:path';
import { FileSystemConfigLoader, HtmlValidate } from 'html-validate';
import { chromium } from 'playwright-core';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const views = [
	{ name: 'light', width: 1100, colorScheme: 'light' },
	{ name: 'dark', width: 1100, colorScheme: 'dark' },
	{ name: 'narrow', width: 360, colorScheme: 'light' },
];
let number = 0;
let failed = 0;

function tell(name, findings) {
	number++;
	console.log(`${findings.length ? 'not ok' : 'ok'} ${number} - ${name}`);
	for (const finding of findings) {
		console.log(`# ${finding}`.replaceAll('\n', ' '));
	}
	failed += findings.length > 0;
}

// What axe calls a violation, and what leaves the file or does not fit.
async function look(browser, file, view) {
	const findings = [];
	const context = await browser.newContext({
		viewport: { width: view.width, height: 800 },
		colorScheme: view.colorScheme,
		bypassCSP: true, // axe is a script, and the page allows none
	});
	const page = await context.newPage();
	const url = pathToFileURL(file).href;

	page.on('request', (request) => {
		if (request.url() !== url) {
			findings.push(`asks for ${request.url()}`);
		}
	});
	page.on('console', (message) => findings.push(`says ${message.text()}`));
	page.on('dialog', (dialog) => {
		findings.push(`runs a script: ${dialog.message()}`);
		dialog.dismiss();
	});
	await page.goto(url);
	const wide = await page.evaluate(() => {
		document.querySelectorAll('details').forEach((one) => (one.open = true));
		return document.documentElement.scrollWidth;
	});
	if (wide > view.width) {
		findings.push(`is ${wide} pixels wide, not ${view.width}`);
	}
	await page.addScriptTag({ path: axe });
	const result = await page.evaluate(() => window.axe.run(document));
	for (const violation of result.violations) {
		findings.push(`${violation.id}: ${violation.nodes[0].html.slice(0, 200)}`);
	}
	await context.close();
	return findings;
}

// The file as it stands: no address of another one, the result readable, ids unique.
async function read(browser, file) {
	const page = await browser.newPage();

	await page.goto(pathToFileURL(file).href);
	const findings = await page.evaluate(() => {
		const bad = [];
		const seen = new Set();
		for (const one of document.querySelectorAll('*')) {
			for (const name of ['src', 'href', 'xlink:href', 'srcset', 'data']) {
				const value = one.getAttribute(name);
				if (value && !value.startsWith('#')) {
					bad.push(`${one.tagName} ${name}=${value}`);
				}
			}
			if (one.id && seen.has(one.id)) {
				bad.push(`id ${one.id} twice`);
			}
			seen.add(one.id);
		}
		for (const one of document.querySelectorAll('[href^="#"]')) {
			if (!seen.has(one.getAttribute('href').slice(1))) {
				bad.push(`no ${one.getAttribute('href')}`);
			}
		}
		const scripts = [...document.scripts];
		if (scripts.length !== 1 || scripts[0].type !== 'application/json') {
			bad.push(`${scripts.length} scripts`);
		} else if (!/^dsa\.(result|compare)\/1$/.test(JSON.parse(scripts[0].textContent).schema)) {
			bad.push('the embedded result has no schema');
		}
		if (!document.querySelector('h1').textContent.trim()) {
			bad.push('no verdict');
		}
		return bad;
	});
	await page.close();
	return findings;
}

async function validate(file) {
	const loader = new FileSystemConfigLoader({
		root: true,
		extends: ['html-validate:recommended'],
	});
	const report = await new HtmlValidate(loader).validateFile(file);

	return report.results.flatMap((result) =>
		result.messages.map((one) => `${one.line}: ${one.ruleId}: ${one.message}`));
}

const files = process.argv.slice(2);
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser',
	'/usr/bin/google-chrome'].find(existsSync);
const browser = await chromium.launch({
	executablePath,
	args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});
console.log(`1..${files.length * 3 + views.length - 1}`);
for (const file of files) {
	for (const view of file === files[0] ? views : views.slice(0, 1)) {
		tell(`${basename(file)}: ${view.name}`, await look(browser, file, view));
	}
	tell(`${basename(file)}: stands alone`, await read(browser, file));
	tell(`${basename(file)}: html-validate`, await validate(file));
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
