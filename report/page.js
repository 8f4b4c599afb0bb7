/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the charts of the page from the data in it. Texts of the data reach the page as text
 * only, never as markup.
 */
'use strict';
(() => {
    const data = JSON.parse(document.getElementById('data').textContent);
    const byId = (id) => document.getElementById(id);
    const drawing = typeof Chart !== 'undefined'; // the build may have had no Chart.js

    /* Colours are in page.css, --series-0 and so on; dashes and marks tell series apart without
     * them. */
    const COLOURS = 7;
    const marks = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'crossRot', 'cross'];
    const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
    const stages = [['host_in_us', 'host in'], ['upload_us', 'upload'], ['compute_us', 'compute'],
        ['download_us', 'download'], ['host_out_us', 'host out'], [null, 'rest of the call']];
    const stageColours = ['#e69f00', '#56b4e9', '#0072b2', '#009e73', '#cc79a7', '#999999'];

    /* ---- texts ---- */

    /* Marks of an axis are short; what was measured has the same digits everywhere. */
    const number = (x) => x >= 1000 ? Math.round(x).toString() : Number(x.toPrecision(4)).toString();
    const measured = (x) => x >= 1000 ? Math.round(x).toString() : x.toPrecision(4);
    const timeText = (us, text = measured) => us >= 1e6 ? `${text(us / 1e6)} s` : us >= 1e3 ? `${text(us / 1e3)} ms`
        : us >= 1 ? `${text(us)} us` : us > 0 ? `${text(us * 1e3)} ns` : '0';
    const rateText = (r, text = measured) => r >= 1e9 ? `${text(r / 1e9)} G/s` : r >= 1e6 ? `${text(r / 1e6)} M/s`
        : r >= 1e3 ? `${text(r / 1e3)} k/s` : `${text(r)} /s`;
    const sizeText = (n) => {
        for (const [unit, name] of [[2 ** 30, 'G'], [2 ** 20, 'M'], [1024, 'K']])
            if (n >= unit && n % unit === 0)
                return n / unit + name;
        return String(n);
    };
    const roundSize = (n) => String(Number(Number(n).toPrecision(3)));
    const timesText = (x) => `${x >= 9.95 ? Math.round(x) : x >= 1.995 ? x.toFixed(1) : x.toFixed(2)}\u00d7`;
    const placeShort = { host: 'host memory', resident: 'device memory' };
    const groupKey = (g) => [g.field, g.op, g.place].join(' ');
    const groupText = (g) => `${g.op}, ${g.field}, ${g.unit.operands} in ${placeShort[g.place]}`;

    /* ---- elements ---- */

    function el(name, attributes, ...children) {
        const e = document.createElement(name);
        for (const [key, value] of Object.entries(attributes || {}))
            if (value !== false)
                e.setAttribute(key, value === true ? '' : value);
        e.append(...children.filter((c) => c !== null && c !== undefined));
        return e;
    }

    function svg(name, attributes) {
        const e = document.createElementNS('http://www.w3.org/2000/svg', name);
        for (const [key, value] of Object.entries(attributes))
            e.setAttribute(key, value);
        return e;
    }

    /* A piece of line as in the chart, or a filled square. */
    function swatch(colour, dash) {
        const box = svg('svg', { width: 26, height: 12, 'aria-hidden': 'true' });
        const shape = dash
            ? svg('line', { x1: 0, y1: 6, x2: 26, y2: 6, 'stroke-width': 3, 'stroke-dasharray': dash.join(' ') })
            : svg('rect', { x: 6, y: 0, width: 12, height: 12 });
        shape.style[dash ? 'stroke' : 'fill'] = colour;
        box.append(shape);
        return box;
    }

    /* ---- state ---- */

    const hasWon = (w) => w.series !== null && !w.tie;
    const keys = new Map(), names = [];
    for (const panel of data.panels) {
        panel.groups.sort((a, b) => rankOf(a) - rankOf(b));
        for (const group of panel.groups) {
            keys.set(groupKey(group), groupText(group));
            for (const series of group.series)
                if (!names.includes(series.name))
                    names.push(series.name);
        }
    }
    const state = { key: mostTelling(), off: new Set(), log: true, bands: true,
        theme: 'system', stage: new Map() };
    const colourName = (name) => `--series-${names.indexOf(name) % COLOURS}`;
    const colourOf = (name) => css(colourName(name));
    const lineSwatch = (name, dash) => swatch(`var(${colourName(name)})`, dash || dashOf(name));
    const markOf = (name) => marks[names.indexOf(name) % marks.length];
    const dashOf = (name) => dashes[names.indexOf(name) % dashes.length];
    const visible = (group) => group.series.filter((s) => !state.off.has(s.name));
    const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const has = (cell) => cell !== null && cell.state === 'ok';

    /* Transforms and sums of points first, the others as in the files; variants ("ntt nr") after the rest. */
    function rankOf(group) {
        const [op, ...variant] = group.op.split(' '), at = ['ntt', 'msm'].indexOf(op);
        return (at < 0 ? 2 : at) + (variant.length ? 3 : 0);
    }
    const isVariant = (group) => rankOf(group) > 2;
    const variants = [['nr', 'output in bit-reversed order'], ['table', 'with a table of multiples of the points'],
        ['ones', 'scalars that are 1'], ['0/1', 'scalars that are 0 or 1'], ['one', 'one scalar for all points'],
        [/^x\d/, 'so many at once']];

    /* The operation to open on: a transform or a sum if there is one, and one where who is fastest depends on
     * the size. */
    function mostTelling() {
        const groupsOf = (key) => data.panels.flatMap((p) => p.groups.filter((g) => groupKey(g) === key));
        const winners = (key) => (rankOf(groupsOf(key)[0]) < 2 ? 100 : 0) + Math.max(...groupsOf(key)
            .map((g) => new Set(g.winners.filter(hasWon).map((w) => w.series)).size));
        return [...keys.keys()].reduce((best, key) => winners(key) > winners(best) ? key : best);
    }

    /* ---- names of devices ---- */

    /* "NVIDIA H200" of "NVIDIA H200, NVIDIA 580.159.04, Vulkan 1.4.312": up to the first comma
     * that is in no brackets. */
    function shortName(description) {
        let depth = 0, end = 0;
        for (; end < description.length && (depth || description[end] !== ','); end++)
            depth += (description[end] === '(') - (description[end] === ')');
        return description.slice(0, end).replace(/\((R|TM)\)/gi, '').replace(/ Processor$/, '').trim();
    }

    const scanOf = (panel, series) => panel.scans.find((s) => s.source === series.source
        && s.devices.some((d) => d.name === series.device));

    /* What it really is; '' where the file does not say. */
    function modelOf(panel, series) {
        const scan = scanOf(panel, series);
        return scan ? shortName(scan.devices.find((d) => d.name === series.device).description) : '';
    }

    const fullName = (panel, series) => [series.name, modelOf(panel, series)].filter(Boolean).join(', ');

    const unique = (list) => [...new Set(list.filter(Boolean))];
    const seriesOf = (panel) => [...new Map(panel.groups.flatMap((g) => g.series).map((s) => [s.name, s])).values()];
    const modelsOf = (panels) => unique(panels.flatMap((p) => seriesOf(p).map((s) => modelOf(p, s))));
    const listText = (list) => list.length < 2 ? list.join('')
        : `${list.slice(0, -1).join(', ')} and ${list[list.length - 1]}`;

    /* For narrow places: "webgpu" where no other of these begins like that. */
    const kindOf = (name) => name.split(':')[0];
    const alias = (name, series) => name.includes('[')
        || series.filter((s) => kindOf(s.name) === kindOf(name)).length > 1 ? name : kindOf(name);

    /* A long name may be broken behind a colon. */
    const breakable = (name) => name.length < 10 ? [name] : name.split(/(?<=:)/).flatMap((part, i) => i ? [el('wbr'), part] : [part]);

    const headingOf = (panel) => listText(modelsOf([panel])) || panel.label;

    /* ---- the matrix of winners ---- */

    const narrow = matchMedia('(max-width: 600px)');

    /* The fastest at each size, of the devices that are selected. */
    function winnersOf(group) {
        if (visible(group).length === group.series.length)
            return group.winners;
        return group.sizes.map((n, i) => {
            const cellOf = (s) => s.cells[i];
            const [first, ...others] = visible(group).filter((s) => has(cellOf(s)))
                .sort((a, b) => cellOf(a).median_us - cellOf(b).median_us || (a.name < b.name ? -1 : 1));
            const second = others.find((s) => s.same !== first.same);
            if (!second)
                return { series: null, second: null, ratio: null, clear: null, tie: false };
            const [a, b] = [first, second].map(cellOf);
            return { series: group.series.indexOf(first), second: group.series.indexOf(second),
                ratio: b.median_us / a.median_us, tie: b.median_us <= data.tie * a.median_us,
                clear: a.high_us === null || b.low_us === null ? null : a.high_us < b.low_us };
        });
    }

    function winnerCell(panel, group, size) {
        const i = group.sizes.indexOf(size), w = i < 0 ? null : winnersOf(group)[i];
        if (!w || w.series === null)
            return el('td', { class: 'none' }, el('span', { title: 'fewer than two devices were measured here' }, '\u2013'));
        const winner = group.series[w.series], second = group.series[w.second];
        const close = w.tie || w.clear === false;
        const said = `${groupText(group)}, ${sizeText(size)} ${group.unit.things}: ` + (w.tie
            ? `${winner.name} and ${second.name} take the same time`
            : `${winner.name} is fastest, ${measured(w.ratio)} times as fast as ${second.name}` + (close ? ', too close to call' : ''));
        const strength = Math.round(12 + 30 * Math.min(Math.log10(w.ratio), 1));
        const button = el('button', { type: 'button', 'aria-pressed': String(groupKey(group) === state.key),
            'aria-label': said, title: said, class: close ? 'won close' : 'won', 'data-key': groupKey(group),
            style: `--tone: var(${w.tie ? '--line' : colourName(winner.name)}); --strength: ${strength}%` },
            el('b', null, ...(w.tie ? ['tie'] : breakable(alias(winner.name, seriesOf(panel))))), ' ',
            el('span', null, (close && !w.tie ? '\u2248' : '') + timesText(w.ratio)));
        button.addEventListener('click', () => choose(groupKey(group), size));
        return el('td', null, button);
    }

    /* Operations down and sizes across as in the charts; on a phone the other way round. */
    function matrix(panel, field, some, what) {
        const groups = some.filter((g) => g.field === field)
            .sort((a, b) => (a.place > b.place) - (a.place < b.place) || rankOf(a) - rankOf(b));
        const sizes = unique(groups.flatMap((g) => g.sizes)).sort((a, b) => a - b);
        const opHead = (g, scope) => el('th', { scope }, g.op, el('small', null, placeShort[g.place]));
        const sizeHead = (n, scope) => el('th', { scope }, sizeText(n));
        const corner = el('th', { scope: 'col' }, narrow.matches ? 'size' : field);
        const head = narrow.matches ? groups.map((g) => opHead(g, 'col')) : sizes.map((n) => sizeHead(n, 'col'));
        const rows = narrow.matches
            ? sizes.map((n) => el('tr', null, sizeHead(n, 'row'), ...groups.map((g) => winnerCell(panel, g, n))))
            : groups.map((g) => el('tr', null, opHead(g, 'row'), ...sizes.map((n) => winnerCell(panel, g, n))));
        return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `winners, ${field}` },
            el('table', { class: 'matrix', style: `--columns: ${head.length}` },
                el('caption', null, `${field}${what}: the fastest device, and how many times as fast as the next`),
                el('thead', null, el('tr', null, corner, ...head)), el('tbody', null, ...rows)));
    }

    /* Who takes part, and in how many of its cells that have a winner it is the fastest. */
    function winnerLegend(panel) {
        const cellsOf = (name) => panel.groups.flatMap((g) => winnersOf(g).map((w, i) => ({ w, g, i })))
            .filter(({ w, g, i }) => w.series !== null && g.series.some((s) => s.name === name && has(s.cells[i])));
        return el('ul', { class: 'legend' }, ...seriesOf(panel).map((s) => {
            const cells = cellsOf(s.name), won = cells.filter(({ w, g }) => hasWon(w) && g.series[w.series].name === s.name);
            const ties = cells.filter(({ w }) => w.tie).length;
            return el('li', null, swatch(`var(${colourName(s.name)})`), el('b', null, s.name),
                `${modelOf(panel, s) && ' '}${modelOf(panel, s)}, fastest in ${won.length} of ${cells.length}`
                + (ties ? `, ${ties} tie${ties > 1 ? 's' : ''}` : ''));
        }));
    }

    function drawWinners() {
        byId('winners').replaceChildren(...data.panels.flatMap((panel) => [
            data.panels.length > 1 ? el('h2', null, headingOf(panel)) : '',
            el('p', { class: 'sub' }, panel.label),
            winnerLegend(panel),
            ...matrices(panel, panel.groups.filter((g) => !isVariant(g)), ''),
            ...variantMatrices(panel)]));
    }

    const matrices = (panel, some, what) => unique(some.map((g) => g.field)).map((field) => matrix(panel, field, some, what));

    /* Of operations that were measured in several ways, all but the plain one, folded away. */
    function variantMatrices(panel) {
        const some = panel.groups.filter(isVariant), words = unique(some.flatMap((g) => g.op.split(' ').slice(1)));
        const told = variants.map(([word, text]) => [words.filter((w) => w === word || (word.test && word.test(w))), text])
            .filter(([found]) => found.length).map(([found, text]) => `${found.join(', ')}: ${text}`);
        return some.length ? [el('details', null, el('summary', null, `The same in other ways: ${words.join(', ')}`),
            el('p', { class: 'sub' }, told.join('; ')), ...matrices(panel, some, ', other ways'))] : [];
    }

    function choose(key, size) {
        state.key = key;
        byId('group').value = key;
        for (const button of document.querySelectorAll('.matrix button'))
            button.setAttribute('aria-pressed', String(button.dataset.key === key));
        draw();
        if (size === undefined)
            return;
        charts.filter((c) => c.canvas.dataset.chart === 'time').forEach((c) =>
            activate(c, c.data.datasets[0].data.findIndex((p) => p.x === size)));
        byId('panels').scrollIntoView({ block: 'nearest', behavior: 'smooth' });
    }

    /* ---- what is drawn over and under the lines ---- */

    /* Vertical lines at crossovers of what is shown, with their intervals; each has a line of
     * its own above the chart for its text. */
    const LABEL = 17;
    const crossovers = {
        id: 'crossovers',
        beforeDatasetsDraw(chart, args, options) {
            const { ctx, chartArea: area, scales: { x } } = chart;
            for (const c of options.list || []) {
                const from = Math.max(x.getPixelForValue((c.even.early || c.even).at), area.left);
                const to = Math.min(x.getPixelForValue((c.even.late || c.even).at), area.right);
                ctx.save();
                ctx.strokeStyle = options.colour;
                ctx.setLineDash([2, 5]);
                for (const size of c.even.changes) { // those before the last are only drawn
                    ctx.beginPath();
                    ctx.moveTo(x.getPixelForValue(size), area.top);
                    ctx.lineTo(x.getPixelForValue(size), area.bottom);
                    ctx.stroke();
                }
                ctx.globalAlpha = 0.14;
                ctx.fillStyle = options.colour;
                ctx.fillRect(from, area.top, Math.max(to - from, 1), area.bottom - area.top);
                ctx.restore();
            }
        },
        afterDatasetsDraw(chart, args, options) {
            const { ctx, chartArea: area, scales: { x } } = chart;
            (options.list || []).forEach((c, row) => {
                const at = x.getPixelForValue(c.even.at);
                if (at < area.left - 1 || at > area.right + 1)
                    return;
                const text = `${c.fastName} faster than ${c.slowName} from about ${roundSize(c.even.at)}`;
                ctx.save();
                ctx.strokeStyle = ctx.fillStyle = options.colour;
                ctx.setLineDash([5, 4]);
                ctx.beginPath();
                const top = area.top - LABEL * (options.list.length - row);
                ctx.moveTo(at, area.top - 1);
                ctx.lineTo(at, area.bottom);
                ctx.stroke();
                ctx.font = '12px system-ui, sans-serif';
                ctx.textBaseline = 'top';
                const width = ctx.measureText(text).width;
                const left = at + 6 + width > area.right
                    ? Math.max(at - 6 - width, area.left + 2) : at + 6;
                ctx.fillText(text, left, top + 2);
                ctx.restore();
            });
        },
    };

    /* A cross on the axis where a series has no figure. */
    const gaps = {
        id: 'gaps',
        afterDatasetsDraw(chart, args, options) {
            const { ctx, chartArea: area, scales: { x } } = chart;
            (options.list || []).forEach(({ size, colour, row }) => {
                const px = x.getPixelForValue(size), py = area.bottom - 7 - 10 * row;
                ctx.save();
                ctx.strokeStyle = colour;
                ctx.lineWidth = 2;
                ctx.beginPath();
                ctx.moveTo(px - 4, py - 4);
                ctx.lineTo(px + 4, py + 4);
                ctx.moveTo(px + 4, py - 4);
                ctx.lineTo(px - 4, py + 4);
                ctx.stroke();
                ctx.restore();
            });
        },
    };

    /* ---- charts ---- */

    const charts = [];

    /* Powers of ten, and 2 and 5 times them where there are few. */
    function logTicks(axis) {
        const decades = Math.log10(axis.max / axis.min);
        const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
        const ticks = [];
        for (let e = Math.floor(Math.log10(axis.min)); e <= Math.ceil(Math.log10(axis.max)); e++)
            for (const s of steps) {
                const value = Number(`${s}e${e}`);
                if (value >= axis.min * 0.999 && value <= axis.max * 1.001)
                    ticks.push({ value });
            }
        axis.ticks = ticks;
    }

    /* What the charts of all panels have in common, so that those side by side compare: sizes,
     * the range of each kind of chart, and room for labels. */
    let shared = { sizes: [], ranges: {}, labels: 0, unit: null };

    const AXIS_WIDTH = 76; // of the marks on the left, so that charts line up

    /* A range with round ends around the numbers. */
    function roundRange(values) {
        const low = Math.min(...values), high = Math.max(...values);
        const round = (x, up) => {
            const ten = 10 ** Math.floor(Math.log10(x)), steps = [1, 2, 5, 10].map((k) => Number((k * ten).toPrecision(1)));
            return up ? steps.find((s) => s >= x * 0.9999) : steps.reverse().find((s) => s <= x * 1.0001);
        };
        return values.length ? { low: round(low, false), high: round(high, true) } : null;
    }

    function sizeAxis() {
        const { sizes } = shared;
        const grid = { color: css('--line') };
        const title = { display: true, text: shared.unit.size, color: css('--faint') };
        const ticks = { color: css('--text'), callback: (v) => sizeText(v), maxRotation: 0,
            autoSkipPadding: 8 };
        if (!state.log)
            return { type: 'linear', min: 0, max: sizes[sizes.length - 1], grid, title,
                ticks: { ...ticks, stepSize: 2 ** Math.ceil(Math.log2(sizes[sizes.length - 1] / 8)) } };
        const low = sizes[0], high = sizes[sizes.length - 1], margin = Math.max((high / low) ** 0.03, 1.01);
        return { type: 'logarithmic', min: low / margin, max: high * margin, grid, title, ticks,
            afterBuildTicks: (axis) => { axis.ticks = sizes.map((value) => ({ value })); } };
    }

    function valueAxis(text, callback, options = {}) {
        const log = state.log && !options.linear, range = options.range;
        return {
            type: log ? 'logarithmic' : 'linear', beginAtZero: !log,
            min: log && range ? range.low : undefined, max: range ? range.high : options.max,
            afterFit: (axis) => { axis.width = AXIS_WIDTH; },
            grid: { color: css('--line') },
            title: { display: true, text, color: css('--faint') },
            ticks: { color: css('--text'), callback, autoSkipPadding: 6 },
            ...(log ? { afterBuildTicks: logTicks } : {}),
        };
    }

    function tooltip(callbacks) {
        return { mode: 'index', intersect: false, callbacks, backgroundColor: css('--text'),
            titleColor: css('--back'), bodyColor: css('--back'), footerColor: css('--back'),
            filter: (item) => !item.dataset.band };
    }

    const lineOf = (name, points, more) => ({
        label: name, data: points, borderColor: colourOf(name), backgroundColor: colourOf(name),
        borderWidth: 2, borderDash: dashOf(name), pointStyle: markOf(name), pointRadius: 4,
        pointHoverRadius: 7, spanGaps: false, clip: 8, ...more,
    });

    /* `extra` columns are left out where there is little room. */
    function table(head, rows, best, extra = []) {
        const kind = (k, i) => [extra.includes(k) && 'extra', best && best[i] === k && 'best'].filter(Boolean).join(' ');
        const body = rows.map((row, i) => el('tr', null, ...row.map((text, k) =>
            k ? el('td', { class: kind(k, i) || false }, text) : el('th', { scope: 'row' }, text))));
        return el('div', { class: 'scroll' }, el('table', null,
            el('thead', null, el('tr', null, ...head.map((h, k) =>
                el('th', { scope: 'col', class: kind(k, -1) || false }, ...breakable(h))))),
            el('tbody', null, ...body)));
    }

    /* The tooltip of one size, of all lines; -1: none. Returns what it says. */
    function activate(chart, index) {
        const active = index < 0 ? [] : chart.data.datasets
            .map((d, datasetIndex) => ({ datasetIndex, index, band: d.band }))
            .filter((a) => !a.band && !(chart.getDatasetMeta(a.datasetIndex).data[index] || { skip: true }).skip);
        chart.setActiveElements(active);
        const element = active.length
            ? chart.getDatasetMeta(active[0].datasetIndex).data[index] : { x: 0, y: 0 };
        chart.tooltip.setActiveElements(active, { x: element.x, y: element.y });
        chart.update('none');
        return [...(chart.tooltip.title || []),
            ...(chart.tooltip.body || []).flatMap((b) => b.lines)].join('; ');
    }

    /* Arrow keys go from size to size; what is there is also said. */
    function arrows(canvas, chart, spoken) {
        let index = -1;
        canvas.addEventListener('keydown', (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1, Home: -1e9, End: 1e9 }[event.key];
            if (event.key === 'Escape')
                index = -1;
            else if (step === undefined)
                return;
            const last = Math.max(...chart.data.datasets.map((d) => d.data.length)) - 1;
            if (step !== undefined)
                index = Math.min(Math.max(index + step, 0), last);
            spoken.textContent = activate(chart, index);
            event.preventDefault();
        });
    }

    /* A figure with its legend, its canvas and its table; the table alone where there is no Chart.js. */
    function figure(into, { id, title, sub, legend, main, pick, config, tableOf }) {
        const head = [el('div', { class: 'head' }, el('h3', null, title), pick), el('p', { class: 'sub' }, sub)];
        const details = el('details', { open: main === true || !drawing }, el('summary', null, 'Table'), tableOf());
        const box = el('figure', main ? { class: 'main' } : null, ...head);
        into.append(box);
        if (!drawing) {
            box.append(details);
            return;
        }
        const canvas = el('canvas', { tabindex: 0, role: 'img', 'aria-label': `${title}; ${sub}`,
            'data-chart': id });
        const spoken = el('p', { class: 'spoken', 'aria-live': 'polite' });
        box.append(el('ul', { class: 'legend' }, ...legend.map(([name, mark]) => el('li', null, mark, name))),
            el('div', { class: 'canvas' }, canvas), spoken, details);
        const chart = new Chart(canvas, config);
        arrows(canvas, chart, spoken);
        charts.push(chart);
    }

    const lineLegend = (panel, list) => list.map((s) => [fullName(panel, s), lineSwatch(s.name)]);

    function gapsOf(group, list, filled) {
        return list.flatMap((s, row) => group.sizes.flatMap((size, i) =>
            filled(s, i) ? [] : [{ size, row, colour: colourOf(s.name) }]));
    }

    const missingText = (cell) => cell === null ? 'missing' : cell.note ? `${cell.state}: ${cell.note}` : cell.state;

    const missingCell = (cell) => el('span', { class: 'missing' }, missingText(cell));

    /* A chart of lines over the sizes, from one number for each cell. */
    function lines(into, panel, group, { id, title, sub, main, axis, valueOf, textOf, lists, crosses,
        bands, tableOf }) {
        const datasets = [];
        for (const s of lists) {
            const points = group.sizes.map((x, i) => ({ x, y: valueOf(s, i) }));
            datasets.push(lineOf(s.name, points));
            if (bands && state.bands && s.cells.some((c) => has(c) && c.p90_us !== null))
                datasets.push(lineOf(s.name, group.sizes.map((x, i) => ({ x, y: bands(s, i) })), {
                    band: true, borderWidth: 0, pointRadius: 0, pointHoverRadius: 0, fill: '-1',
                    backgroundColor: colourOf(s.name) + '38' }));
        }
        const missing = (i) => lists.filter((s) => valueOf(s, i) === null)
            .map((s) => `${s.name}: ${missingText(s.cells[i])}`);
        figure(into, {
            id, title, sub, main, legend: lineLegend(panel, lists),
            config: {
                type: 'line', data: { datasets },
                options: {
                    animation: false, maintainAspectRatio: false,
                    layout: { padding: { top: 6 + (crosses.length ? LABEL * shared.labels : 0) } },
                    interaction: { mode: 'index', intersect: false },
                    scales: { x: sizeAxis(), y: axis },
                    plugins: {
                        legend: { display: false },
                        tooltip: tooltip({
                            title: (items) => items.length
                                ? `${sizeText(items[0].raw.x)} ${group.unit.things}` : '',
                            label: (item) => `${item.dataset.label}: ` + textOf(
                                lists.find((s) => s.name === item.dataset.label), item.dataIndex, item.chart.width < 700),
                            footer: (items) => items.length ? missing(items[0].dataIndex) : [],
                        }),
                        crossovers: { list: crosses, colour: css('--text') },
                        gaps: { list: gapsOf(group, lists, (s, i) => valueOf(s, i) !== null) },
                    },
                },
                plugins: [crossovers, gaps],
            },
            tableOf: tableOf || (() => table(['size', ...lists.map((s) => s.name)],
                group.sizes.map((n, i) => [sizeText(n), ...lists.map((s) => valueOf(s, i) === null
                    ? missingCell(s.cells[i]) : textOf(s, i))]))),
        });
    }

    const briefText = (c) => timeText(c.median_us) + (c.p90_us === null ? '' : ` (P90 ${timeText(c.p90_us)})`);
    const cellText = (c) => briefText(c) + (c.low_us === null ? '' : `, 95 % ${timeText(c.low_us)} to ${timeText(c.high_us)}`)
        + (c.samples === null ? '' : `, ${c.samples} samples`)
        + (c.warm_samples ? `, ${c.warm_samples} warm-up` : '');

    /* Between measured sizes as crossovers are found: straight on logarithmic axes. */
    function timeAt(group, s, x) {
        const i = group.sizes.findIndex((n) => n >= x);
        if (i < 1 || !has(s.cells[i - 1]) || !has(s.cells[i]))
            return null;
        const part = Math.log(x / group.sizes[i - 1]) / Math.log(group.sizes[i] / group.sizes[i - 1]);
        return s.cells[i - 1].median_us ** (1 - part) * s.cells[i].median_us ** part;
    }

    const pairsOf = (group, list) => group.crossovers.filter((c) => list.includes(group.series[c.slow])
        && list.includes(group.series[c.fast]));

    /* The crossovers to draw. Of many, those at which another device becomes the fastest of all. */
    const DRAWN = 4;
    function crossesOf(group, list) {
        const all = pairsOf(group, list).filter((c) => c.even.kind === 'from');
        const fastest = (c) => {
            const least = timeAt(group, group.series[c.fast], c.even.at);
            return list.every((s) => s === group.series[c.fast] || s === group.series[c.slow]
                || !(timeAt(group, s, c.even.at) < least));
        };
        return (all.length > DRAWN ? all.filter(fastest) : all)
            .map((c) => ({ ...c, fastName: alias(group.series[c.fast].name, group.series),
                slowName: alias(group.series[c.slow].name, group.series) }));
    }

    const orMissing = (value, text) => value === null ? '' : text(value);

    /* Medians and P90 side by side, and which is the fastest. */
    function winnerTable(group, list) {
        const fastest = winnersOf(group);
        const winners = fastest.map((w) => w.series === null ? ['', '']
            : w.tie ? ['tie', `${measured(w.ratio)} times`]
                : [(w.clear === false ? '~ ' : '') + group.series[w.series].name, `${measured(w.ratio)} times`]);
        return table(['size', ...list.flatMap((s) => [s.name, 'P90']), 'winner', 'second / winner'],
            group.sizes.map((n, i) => [sizeText(n), ...list.flatMap((s) => has(s.cells[i])
                ? [timeText(s.cells[i].median_us), orMissing(s.cells[i].p90_us, timeText)]
                : [missingCell(s.cells[i]), '']), ...winners[i]]),
            fastest.map((w) => !hasWon(w) ? -1
                : 2 * list.indexOf(group.series[w.series]) + 1),
            [...list.map((s, k) => 2 * k + 2), 2 * list.length + 1]);
    }

    /* Every cell with all that was kept of it. */
    function wholeTable(group, list) {
        const times = ['low_us', 'high_us', 'p90_us', 'min_us', 'max_us', 'first_us'];
        const counts = ['samples', 'warm_samples', 'threads', 'submits'];
        return table(['size', 'device', 'median', `per ${group.unit.each}`, '95 % from', 'to', 'P90', 'min', 'max', 'first call',
            'samples', 'warm-up', 'threads', 'submits'],
            group.sizes.flatMap((n, i) => list.map((s) => has(s.cells[i])
                ? [sizeText(n), s.name, timeText(s.cells[i].median_us), eachText(group, s, i),
                    ...times.map((k) => orMissing(s.cells[i][k], timeText)),
                    ...counts.map((k) => orMissing(s.cells[i][k], String))]
                : [sizeText(n), s.name, missingCell(s.cells[i]), ...Array(11).fill('')])));
    }

    /* What each chart of lines shows of a cell; null: nothing. */
    const timeOf = (s, i) => has(s.cells[i]) ? s.cells[i].median_us : null;
    const rateOf = (group, s, i) => has(s.cells[i]) && group.unit.counts[i] > 0
        ? group.unit.counts[i] / s.cells[i].median_us * 1e6 : null;
    const eachText = (group, s, i) => rateOf(group, s, i) === null ? '' : `${measured(1e9 / rateOf(group, s, i))} ns`;
    const speedupOf = (group, s, i) => {
        const base = group.series[group.base];
        return has(base.cells[i]) && has(s.cells[i]) ? base.cells[i].median_us / s.cells[i].median_us : null;
    };

    function findShared() {
        const groups = data.panels.flatMap((p) => p.groups.filter((g) => groupKey(g) === state.key));
        const all = (valueOf) => roundRange(groups.flatMap((g) => visible(g).flatMap((s) =>
            g.sizes.map((n, i) => valueOf(g, s, i)).filter((v) => v !== null && v > 0))));
        shared = {
            unit: groups[0].unit,
            sizes: unique(groups.flatMap((g) => g.sizes)).sort((a, b) => a - b),
            labels: Math.max(...groups.map((g) => crossesOf(g, visible(g)).length)),
            ranges: {
                time: all((g, s, i) => has(s.cells[i]) ? Math.max(timeOf(s, i), state.bands && s.cells[i].p90_us || 0) : null),
                rate: all(rateOf), speedup: all(speedupOf),
            },
        };
        const low = all((g, s, i) => timeOf(s, i));
        if (low)
            shared.ranges.time.low = low.low;
    }

    function drawTime(into, panel, group, list) {
        lines(into, panel, group, {
            id: 'time', title: 'Time of one call', main: true, lists: list,
            sub: groupText(group), axis: valueAxis('time of one call', (v) => timeText(v, number),
                { range: shared.ranges.time }),
            valueOf: timeOf,
            bands: (s, i) => has(s.cells[i]) ? s.cells[i].p90_us : null,
            textOf: (s, i, brief) => (brief ? briefText : cellText)(s.cells[i]), crosses: crossesOf(group, list),
            tableOf: () => winnerTable(group, list),
        });
        into.lastChild.append(el('details', { class: 'whole' }, el('summary', null, 'All figures'),
            wholeTable(group, list)));
    }

    function drawRate(into, panel, group, list) {
        lines(into, panel, group, {
            id: 'rate', title: 'Throughput', lists: list, crosses: [],
            sub: `${group.unit.plural} per second, from the median` + (group.unit.each === 'butterfly'
                ? '; a transform of n elements has n/2 log2 n butterflies' : ''),
            axis: valueAxis(`${group.unit.plural} per second`, (v) => rateText(v, number), { range: shared.ranges.rate }),
            valueOf: (s, i) => rateOf(group, s, i),
            textOf: (s, i) => `${rateText(rateOf(group, s, i))}, ${eachText(group, s, i)} each`,
        });
    }

    function drawSpeedup(into, panel, group, list) {
        const base = group.series[group.base], ratio = (s, i) => speedupOf(group, s, i);
        lines(into, panel, group, {
            id: 'speedup', title: `Speed-up against ${base.name}`, lists: list,
            sub: `median of ${base.name} / median; above 1 is faster`,
            axis: valueAxis('times as fast', (v) => number(v), { range: shared.ranges.speedup }), valueOf: ratio,
            textOf: (s, i) => `${measured(ratio(s, i))} times`, crosses: crossesOf(group, list),
        });
    }

    /* Shares of a call's time. Stages that overlap are longer together than the call. */
    const stageTimes = (cell) => {
        const known = stages.slice(0, -1).map(([key]) => cell[key]);
        return [...known, Math.max(cell.median_us - known.reduce((a, b) => a + b, 0), 0)];
    };
    const staged = (cell) => has(cell) && cell.compute_us !== null;

    function drawStages(into, group, list, panelIndex) {
        const some = list.filter((s) => s.cells.some(staged));
        if (!some.length)
            return;
        const series = some.find((s) => s.name === state.stage.get(panelIndex))
            || some.find((s) => s.device !== 'cpu') || some[0];
        const share = (i, k) => {
            if (!staged(series.cells[i]))
                return null;
            const times = stageTimes(series.cells[i]);
            return 100 * times[k] / times.reduce((a, b) => a + b, 0);
        };
        const pick = el('label', null, 'of ', el('select', { 'data-pick': 'stages' },
            ...some.map((s) => el('option', { selected: s === series }, s.name))));
        pick.querySelector('select').addEventListener('change', (event) => {
            state.stage.set(panelIndex, event.target.value);
            draw();
            document.querySelectorAll('[data-pick=stages]')[0].focus();
        });
        figure(into, {
            id: 'stages', title: 'Where the time goes', pick,
            sub: `${series.name}: share of each stage in the time of a call; the table has the times`,
            legend: stages.map(([, name], k) => [name, swatch(stageColours[k])]),
            config: {
                type: 'bar',
                data: { labels: group.sizes.map(sizeText), datasets: stages.map(([, name], k) => ({
                    label: name, backgroundColor: stageColours[k], stack: 'all',
                    data: group.sizes.map((n, i) => share(i, k)) })) },
                options: {
                    animation: false, maintainAspectRatio: false,
                    scales: {
                        x: { stacked: true, grid: { display: false }, ticks: { color: css('--text') },
                            title: { display: true, text: shared.unit.size, color: css('--faint') } },
                        y: { ...valueAxis('share of the time', (v) => `${v} %`, { linear: true, max: 100 }),
                            stacked: true },
                    },
                    plugins: {
                        legend: { display: false },
                        tooltip: tooltip({
                            title: (items) => items.length ? `${items[0].label} ${group.unit.things}` : '',
                            label: (item) => `${item.dataset.label}: ${number(item.raw)} %, `
                                + timeText(stageTimes(series.cells[item.dataIndex])[item.datasetIndex]),
                        }),
                    },
                },
            },
            tableOf: () => table(['size', ...stages.map(([, name]) => name), 'call'],
                group.sizes.map((n, i) => staged(series.cells[i])
                    ? [sizeText(n), ...stageTimes(series.cells[i]).map((us) => timeText(us)),
                        timeText(series.cells[i].median_us)]
                    : [sizeText(n), ...stages.map(() => 'missing'), 'missing'])),
        });
    }

    function drawHits(into, group, list) {
        const rate = (cell, what) => {
            if (!has(cell) || cell[`${what}_hits`] === null)
                return null;
            const all = cell[`${what}_hits`] + cell[`${what}_misses`];
            return all ? 100 * cell[`${what}_hits`] / all : null;
        };
        const kinds = [['pool', 'memory reused from the pool', []], ['command', 'commands reused', [3, 3]]];
        const some = list.flatMap((s) => kinds
            .filter(([what]) => s.cells.some((c) => rate(c, what) !== null))
            .map(([what, text, dash]) => ({ s, what, name: `${s.name}: ${text}`, dash })));
        if (!some.length)
            return;
        figure(into, {
            id: 'hits', title: 'Hit rates', sub: 'of pooled memory and recorded commands during the measurement',
            legend: some.map((x) => [x.name, lineSwatch(x.s.name, x.dash)]),
            config: {
                type: 'line',
                data: { datasets: some.map((x) => lineOf(x.s.name, group.sizes.map((n, i) =>
                    ({ x: n, y: rate(x.s.cells[i], x.what) })),
                    { label: x.name, borderDash: x.dash, pointStyle: x.dash.length ? 'rect' : 'circle' })) },
                options: {
                    animation: false, maintainAspectRatio: false, layout: { padding: { top: 8 } },
                    interaction: { mode: 'index', intersect: false },
                    scales: { x: sizeAxis(),
                        y: valueAxis('hits', (v) => `${v} %`, { linear: true, max: 100 }) },
                    plugins: {
                        legend: { display: false },
                        tooltip: tooltip({
                            title: (items) => items.length ? `${sizeText(items[0].raw.x)} ${group.unit.things}` : '',
                            label: (item) => `${item.dataset.label}: ${number(item.raw.y)} %`,
                        }),
                    },
                },
            },
            tableOf: () => table(['size', ...some.map((x) => x.name)], group.sizes.map((n, i) =>
                [sizeText(n), ...some.map((x) => {
                    const r = rate(x.s.cells[i], x.what);
                    return r === null ? 'missing' : `${number(r)} %`;
                })])),
        });
    }

    /* ---- panels ---- */

    /* What the crossovers say; of many, first those drawn, and the others on request. */
    function findings(group, list) {
        const told = pairsOf(group, list).filter((c) => c.text !== null), drawn = crossesOf(group, list).map((c) => c.text);
        const items = (some) => el('ul', { class: 'findings' }, ...some.map((c) => el('li', null, c.text)));
        const first = told.length > 2 * DRAWN ? told.filter((c) => drawn.includes(c.text)) : told;
        const rest = told.filter((c) => !first.includes(c));
        return rest.length ? [items(first), el('details', null,
            el('summary', null, `The other ${rest.length} pairs`), items(rest))] : [items(first)];
    }

    function drawPanel(panel, index) {
        const group = panel.groups.find((g) => groupKey(g) === state.key);
        const section = el('section', { class: 'panel', 'aria-label': panel.label },
            el('h2', null, data.panels.length > 1 ? headingOf(panel) : keys.get(state.key)),
            el('p', { class: 'sub' }, panel.label));
        byId('panels').append(section);
        if (!group) {
            section.append(el('p', { class: 'missing' },
                `Missing: ${keys.get(state.key)} was not measured here.`));
            return;
        }
        const list = visible(group);
        section.append(...findings(group, list));
        if (!list.length) {
            section.append(el('p', { class: 'missing' }, 'No device is selected.'));
            return;
        }
        const into = el('div', { class: 'charts' });
        section.append(into);
        drawTime(into, panel, group, list);
        drawRate(into, panel, group, list);
        drawSpeedup(into, panel, group, list);
        drawStages(into, group, list, index);
        drawHits(into, group, list);
    }

    const dark = matchMedia('(prefers-color-scheme: dark)');

    function setTheme(theme) {
        const name = theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme;
        document.documentElement.dataset.theme = name;
    }

    function draw() {
        const open = [...document.querySelectorAll('#panels details')].map((d) => d.open);
        for (const chart of charts.splice(0))
            chart.destroy();
        setTheme(state.theme);
        byId('panels').replaceChildren();
        findShared();
        byId('panels').classList.toggle('several', data.panels.length > 1);
        data.panels.forEach(drawPanel);
        [...document.querySelectorAll('#panels details')].forEach((d, i) => {
            if (open[i] !== undefined)
                d.open = open[i];
        });
    }

    const NOTES = 8; // that are read at a glance

    /* ---- controls ---- */

    function makeControls() {
        byId('group').append(...[...keys].map(([key, text]) => el('option', { value: key }, text)));
        byId('group').value = state.key;
        byId('group').addEventListener('change', (event) => choose(event.target.value));
        narrow.addEventListener('change', drawWinners);
        byId('devices').append(...names.map((name) => {
            const box = el('input', { type: 'checkbox', checked: true, value: name });
            box.addEventListener('change', () => {
                state.off[box.checked ? 'delete' : 'add'](name);
                drawWinners();
                draw();
            });
            return el('label', null, box, ' ', lineSwatch(name), name);
        }));
        byId('bands').addEventListener('change', (event) => {
            state.bands = event.target.checked;
            draw();
        });
        for (const radio of document.querySelectorAll('[name=axes]'))
            radio.addEventListener('change', () => {
                state.log = radio.value === 'log';
                draw();
            });
        for (const radio of document.querySelectorAll('[name=theme]'))
            radio.addEventListener('change', () => {
                state.theme = radio.value;
                draw();
            });
        byId('controls').addEventListener('submit', (event) => event.preventDefault());
        dark.addEventListener('change', draw);
    }

    function fillTexts() {
        const scans = data.panels.flatMap((p) => p.scans);
        const models = unique(modelsOf(data.panels).map((m) => m.replace(/ *\(.*\)/, ''))), machines = data.panels.length;
        const who = models.length > 5 || !models.length ? `${names.length} devices on ${machines} machine${machines > 1 ? 's' : ''}`
            : listText(models);
        byId('headline').textContent = document.title = `${who}: the fastest device at each size`;
        byId('lead').textContent = `${scans.length > 1 ? `${scans.length} ${scans.some((s) => s.foreign) ? 'files' : 'scans'}` : 'One scan'}`
            + `${scans.every((s) => s.date) ? ` of ${unique(scans.map((s) => s.date.slice(0, 10))).join(', ')}` : ''}, `
            + `drawn by gpuexec ${data.version}. Choose a cell to see the operation below.`;
        const notes = el('ul', null, ...data.notes.map((n) => el('li', null, n)));
        byId('notes').append(data.notes.length <= NOTES ? notes
            : el('details', null, el('summary', null, `${data.notes.length} notes`), notes));
        byId('notes').hidden = !data.notes.length;
        for (const s of scans) {
            const lines = s.foreign ? [['file', s.file], ['machine', s.os || 'not stated in the file'],
                ...(s.options ? [['command', s.options]] : [])]
                : [['file', s.file], ['gpuexec', s.library], ['date', s.date], ['system', s.os],
                    ['CPU', s.cpu], ['clocks', s.clocks || 'not readable'],
                    ...s.devices.map((d) => [d.name, d.description]), ['options', s.options]];
            byId('scans').append(el('dl', null, ...lines.flatMap(([k, v]) =>
                [el('dt', null, k), el('dd', null, v)])));
        }
    }

    /* On paper: light, every table open but the widest, charts as wide as the page. */
    let openBefore = [];
    addEventListener('beforeprint', () => {
        const all = [...document.querySelectorAll('details')];
        openBefore = all.map((d) => d.open);
        const theme = state.theme;
        state.theme = 'light';
        draw();
        state.theme = theme;
        document.querySelectorAll('details').forEach((d) => { d.open = true; });
        for (const chart of charts)
            chart.resize(680, 260);
    });
    addEventListener('afterprint', () => {
        draw();
        document.querySelectorAll('details').forEach((d, i) => { d.open = openBefore[i]; });
    });

    if (drawing)
        Chart.defaults.font.family = 'system-ui, sans-serif';
    byId('chartless').hidden = drawing;
    document.querySelectorAll('.drawn').forEach((e) => { e.hidden = !drawing; });
    makeControls();
    fillTexts();
    drawWinners();
    draw();
})();
