/**
 * The style sheet of the page and the reference: light and dark, for phones, wide screens and
 * paper, without images or fonts. Rules with `.reference` are for the reference only.
 */
export const PAGE_STYLE = `
:root { color-scheme: light dark;
  --back: light-dark(#f4f6f8, #11151a); --card: light-dark(#fff, #1a2028);
  --text: light-dark(#1b2027, #e7ebf0); --soft: light-dark(#56606c, #a5afbb);
  --line: light-dark(#cdd4dc, #333c47); --edge: light-dark(#7d8894, #74808d);
  --accent: light-dark(#0b5cad, #7dbbff); --on-accent: light-dark(#fff, #08203a);
  --good: light-dark(#11602d, #8ce0a5); --good-back: light-dark(#e6f5ea, #14301e);
  --bad: light-dark(#a10f1b, #ffb4b0); --bad-back: light-dark(#fdecec, #3d181b);
  --wait: light-dark(#7a4d00, #f0c674); --field: light-dark(#fff, #11151a); }
* { box-sizing: border-box; margin: 0; }
html { scrollbar-gutter: stable; }
[hidden], nav:has([hidden] + [hidden]) { display: none !important; }
body { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; background: var(--back);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.3; } h2 { font-size: 1.15rem; }
header, header nav, noscript p { margin-bottom: 1.25rem; } a { color: var(--accent); }
header nav { padding-bottom: 0.625rem; border-bottom: 1px solid var(--line); }
[aria-current='page'] { color: inherit; font-weight: 600; text-decoration: none; }
.skip:not(:focus) { position: absolute; left: -99rem; }
header p, .hint, .empty, caption, th, .none, .sold, #start, .wait { color: var(--soft); }
.hint, caption, th { font-size: 0.875rem; } td { font-size: 0.9375rem; }
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
.card, .stack { display: flex; flex-direction: column; gap: 0.875rem; min-width: 0; }
.card { padding: 1rem; background: var(--card); border: 1px solid var(--line); }
.row, .side { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; }
.ends > :last-child { margin-left: auto; }
label { display: grid; gap: 0.25rem; font-weight: 600; font-size: 0.9375rem; }
label.side { display: flex; align-items: center; gap: 0.5rem; min-height: 2.75rem; }
#from { width: 6rem; } summary { cursor: pointer; } .card > summary { font-weight: 600; }
details.card { display: block; } #key-form { margin: 0.875rem 0 0.5rem; }
#key-card:has(#key-state:empty) #forget { display: none; }
.card, input, select, button, pre, .words, .empty { border-radius: 0.625rem; }
input, select, button { font: 1rem/1.5 system-ui, sans-serif; color: inherit; min-width: 0;
  min-height: 2.75rem; padding: 0.25rem 0.75rem; border: 1px solid var(--edge);
  background: var(--field); }
[type='checkbox'] { width: 1.25rem; min-height: 1.25rem; accent-color: var(--accent); }
[aria-invalid='true'] { border-color: var(--bad); box-shadow: 0 0 0 1px var(--bad); }
button { cursor: pointer; font-weight: 600; }
button:not(.main):hover { border-color: var(--accent); color: var(--accent); }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: 0.5rem; }
th, td { padding: 0.5rem 0.375rem; text-align: left; vertical-align: top; }
td { border-top: 1px solid var(--line); }
td.number, .name, .words { overflow-wrap: anywhere; overflow: hidden; }
.number { text-align: right; min-width: 2.5rem; }
.name { width: 100%; min-width: 4rem; max-width: 0; }
.name:empty::before { content: '(empty)'; color: var(--soft); }
.name summary { max-height: 5.625rem; overflow: hidden; }
.name p { max-height: 16rem; margin-top: 0.5rem; overflow: auto; }
[data-mark] { unicode-bidi: isolate; }
[data-mark]::before { content: attr(data-mark); padding: 0 0.2em; margin: 0 0.1em; color: var(--wait);
  font: 0.75em ui-monospace, monospace; border: 1px solid; border-radius: 0.25rem; }
.new, .good { background: var(--good-back); } .pending { color: var(--wait); }
.available, .good { color: var(--good); }
.empty { padding: 2rem 1rem; text-align: center; border: 1px dashed var(--edge); }
.words:not(:empty) { padding: 0.625rem 0.875rem; margin-bottom: 0.5rem; }
.bad { background: var(--bad-back); color: var(--bad); }
div:has(> .words:empty) { margin-top: -0.875rem; }
.ends > .hint + button { min-height: 2rem; font-size: 0.875rem; margin-bottom: 0.25rem; }
.received { margin-top: 0.5rem; font-size: 0.875rem; }
pre { max-height: 24rem; padding: 0.6875rem 0.875rem; overflow: auto; background: var(--back);
  font: 0.8125rem/1.6 ui-monospace, monospace; }
.curl pre, .received pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.curl pre { word-break: break-all; }
@media (scripting: none) { #start { display: none; } }
@media (min-width: 56rem) {
  main { grid-template-columns: minmax(0, 1fr) clamp(21rem, 36vw, 25rem); }
  #key-card, #more { grid-column: 1 / -1; }
  #key-form { align-items: end; } #key-form label:first-child { flex: 1; }
}
@media (min-width: 40rem) { .number { white-space: nowrap; } }
.reference { overflow-wrap: anywhere; } .reference :is(main, .card) { display: block; }
.reference :is(main p, figure, pre, dl, .card, .sample) { margin-bottom: 0.75rem; }
.reference :is(p, dl, ul):empty { display: none; }
.reference :is(main p, dd) { max-width: 36rem; } .reference .ends { max-width: none; }
.reference main > section { margin-bottom: 1.75rem; }
.reference h2 { font-size: 1.5rem; margin-bottom: 0.75rem; } h3 { font-size: 1.25rem; } h3 code { font-size: 1.125rem; }
h4 { font-size: 0.9375rem; margin: 1.25rem 0 0.375rem; }
.reference h2::first-letter, .contents a::first-letter { text-transform: uppercase; }
h2 a, h3 a, .contents a { color: inherit; text-decoration: none; }
h2 a:hover, h3 a:hover, .contents a:hover { text-decoration: underline; }
code { font: 0.8125rem/1.6 ui-monospace, monospace; }
.reference :is(th, td:not(:last-child)) { overflow-wrap: break-word; }
.reference tbody th { border-top: 1px solid var(--line); color: inherit; }
.reference pre { max-height: none; white-space: pre-wrap; border: 1px solid var(--line); }
.sample p.row { margin-bottom: 0; } fieldset { border: 0; padding: 0; } legend { float: left; }
.reference:has(#as-javascript:checked) .curl-sample.or { display: none; }
.reference:has(#as-curl:checked) .javascript-sample.or { display: none; }
dl > div { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 0.75rem;
  padding: 0.375rem 0; border-top: 1px solid var(--line); }
dd:last-child { flex-basis: 100%; }
.response:not(:first-child) { padding-top: 0.75rem; border-top: 1px solid var(--line); }
.mark { padding: 0.125rem 0.5rem; margin-left: 0.5rem; font-size: 0.8125rem; color: var(--wait);
  border: 1px solid; border-radius: 0.625rem; }
:target { outline: 2px solid var(--accent); outline-offset: 3px; }
.contents { margin-bottom: 2rem; } .contents ul { list-style: none; padding: 0; }
.contents .in-h3 { padding-left: 1rem; }
.contents a { display: inline-block; padding: 0.125rem 0.375rem; border-left: 3px solid transparent; }
.contents [aria-current='true'] { border-color: var(--accent); color: var(--accent); }
@media (min-width: 48rem) {
  .reference { display: grid; gap: 2rem; grid-template-columns: 13rem minmax(0, 1fr); }
  .contents { position: sticky; top: 1rem; align-self: start; max-height: 96vh; overflow: auto;
    font-size: 0.875rem; }
}
@media print {
  :root { color-scheme: light; } body { max-width: none; padding: 0; font-size: 0.875rem; }
  nav, form, button, fieldset, .contents, .curl, .received, #key-card, #more {
    display: none !important; }
  main, .reference { display: block; } .reference .card { break-inside: auto; }
  pre, tr, figure, .sample { break-inside: avoid; } h2, h3, h4 { break-after: avoid; }
}
`;
