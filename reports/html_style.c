#include "reports/html_part.h"

/*
 * Colours are variables, so that the dark theme is one block; print is always light.
 * --ink-N are the colours of plot.h.
 */
const char *const html_style[] = {
	":root{--page:#f5f6f8;--surface:#fff;--text:#1c2128;--muted:#57606a;"
	"--line:#d8dee4;--grid:#e6eaef;--compute:#14785c;--prep:#b45309;"
	"--fetch:#3b57d0;--note:#fff6e0;--note-line:#d4a72c;color-scheme:light}"
	"\n",
	"@media screen and (prefers-color-scheme:dark){:root{--page:#0e1116;"
	"--surface:#161b22;--text:#e6eaf0;--muted:#9aa6b2;--line:#2d343d;"
	"--grid:#262d36;--compute:#3fbf95;--prep:#f0a33f;--fetch:#90a5ff;"
	"--note:#2b2411;--note-line:#8f6f1e;color-scheme:dark}}\n",
	":root{--ink-1:var(--muted);--ink-2:var(--muted);--ink-3:var(--grid);"
	"--ink-4:var(--compute);--ink-5:var(--prep);--ink-6:var(--fetch)}\n",
	"*{box-sizing:border-box}\n",
	"body{margin:0;background:var(--page);color:var(--text);"
	"font:16px/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\","
	"\"Liberation Sans\",sans-serif;-webkit-text-size-adjust:100%}\n",
	"header,main,footer{max-width:62rem;margin:0 auto;padding:0 1.5rem}\n",
	"header{padding-top:2.25rem}\n",
	"main>section{background:var(--surface);border:1px solid var(--line);"
	"border-radius:10px;padding:1.5rem 1.75rem;margin:1.25rem 0}\n",
	"h1{font-size:1.9rem;line-height:1.25;font-weight:650;letter-spacing:-.015em;"
	"margin:.4rem 0 .6rem;text-wrap:balance;overflow-wrap:anywhere}\n",
	"h2{font-size:1.2rem;line-height:1.3;font-weight:650;margin:0 0 .75rem}\n",
	"h3{font-size:1rem;font-weight:650;margin:1.75rem 0 .5rem}\n",
	"p{margin:.5rem 0;max-width:44rem}\n",
	".small,.muted,figcaption p,footer{color:var(--muted);font-size:.875rem}\n",
	".top{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;justify-content:"
	"space-between;color:var(--muted);font-size:.875rem;margin:0;max-width:none}\n",
	".brand{font-weight:650;color:var(--text)}\n",
	".how{color:var(--muted);margin:.25rem 0;overflow-wrap:anywhere}\n",
	".note{background:var(--note);border-left:4px solid var(--note-line);"
	"border-radius:4px;padding:.6rem 1rem;margin:1rem 0;max-width:none;"
	"overflow-wrap:anywhere}\n",
	".n,.big,td,time{font-variant-numeric:tabular-nums}\n",
	".facts,.shares{display:grid;gap:1rem 2rem;margin:1.25rem 0 0;padding:0;"
	"grid-template-columns:repeat(3,minmax(0,1fr));list-style:none}\n",
	".facts div{margin:0}.facts dt,.shares .name{color:var(--muted);"
	"font-size:.875rem}\n",
	".facts dd{margin:0}.big{font-size:1.75rem;line-height:1.25;font-weight:650;"
	"letter-spacing:-.01em}\n",
	".big small{font-size:.9rem;font-weight:400;letter-spacing:0;"
	"color:var(--muted)}\n",
	".bar{display:block;width:100%;height:60px;margin:.5rem 0 0}\n",
	".bar.thin{height:12px}\n",
	".shares li{border-top:4px solid;padding-top:.6rem}\n",
	".shares .name{display:flex;align-items:center;gap:.5rem}\n",
	".swatch{width:1rem;height:1rem;flex:none;border-radius:2px}\n",
	".compute{color:var(--compute)}.prep{color:var(--prep)}"
	".fetch{color:var(--fetch)}.rest{color:var(--muted)}\n",
	".shares .big,.shares p{color:var(--text);margin:.1rem 0}\n",
	".shares p.small{color:var(--muted)}\n",
	".figures table{font-size:.8125rem}.figures th,.figures "
	"td{padding-right:.7rem}\n",
	".figures{display:grid;gap:2rem;margin:1.25rem 0 0;"
	"grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr))}\n",
	"figure{margin:0;min-width:0}\n",
	"figure svg{display:block;width:100%;height:auto}\n",
	"figure svg text{font-size:12px;font-family:inherit}\n",
	"figcaption h3{margin:0}figcaption p{margin:.2rem 0 .6rem}\n",
	".legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;"
	"margin:.35rem 0 .5rem;padding:0;font-size:.8125rem;color:var(--muted)}\n",
	".legend li{display:flex;align-items:center;gap:.4rem}\n",
	"figure .legend svg{width:1.6rem;height:.8rem;flex:none}\n",
	".scroll{overflow-x:auto;margin:.5rem 0}\n",
	"table{border-collapse:collapse;width:100%;font-size:.875rem;"
	"line-height:1.45}\n",
	"caption{text-align:left;color:var(--muted);padding:0 0 .4rem;"
	"font-size:.8125rem}\n",
	"th,td{text-align:left;padding:.4rem 1.1rem .4rem 0;vertical-align:top;"
	"border-bottom:1px solid var(--grid)}\n",
	"th:last-child,td:last-child{padding-right:0}\n",
	"thead th{color:var(--muted);font-weight:500;border-bottom-color:var(--line);"
	"white-space:nowrap}\n",
	"tbody th{font-weight:500}tr:last-child>*{border-bottom:0}\n",
	"th.n,td.n{text-align:right;white-space:nowrap}\n",
	"td{overflow-wrap:break-word;min-width:3.5rem}\n",
	".rate{width:30%;min-width:6rem}.rate svg{display:block;width:100%;"
	"height:.7rem;margin-top:.3rem}\n",
	".groups{columns:2;column-gap:3rem}.group{break-inside:avoid;padding-bottom:1."
	"2rem}"
	".group h3{margin-top:0}.facts-table th{width:42%;color:var(--muted)}"
	".facts-table th::first-letter{text-transform:uppercase}\n",
	"details{margin:.5rem 0}\n",
	"summary{cursor:pointer;color:var(--muted);font-size:.875rem;"
	"padding:.15rem 0;width:fit-content}\n",
	"summary:hover{color:var(--text)}\n",
	":focus-visible{outline:2px solid var(--fetch);outline-offset:2px;"
	"border-radius:2px}\n",
	"pre{margin:.5rem 0;padding:.85rem 1rem;background:var(--page);"
	"border:1px solid var(--line);border-radius:6px;white-space:pre-wrap;"
	"overflow-wrap:anywhere;font-size:.875rem;line-height:1.5}\n",
	"p code{white-space:nowrap}\n",
	"code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"
	"\"Liberation Mono\",monospace}\n",
	".ok::before{content:\"\\2713\\a0\"}.void::before{content:\"\\25b2\\a0\"}\n",
	".void{color:var(--prep)}\n",
	"footer{padding-top:.5rem;padding-bottom:2.5rem}\n",
	"@media (max-width:40rem){header,main,footer{padding-left:1rem;"
	"padding-right:1rem}header{padding-top:1.25rem}"
	"main>section{padding:1.1rem 1rem;margin:.85rem 0;border-radius:8px}"
	"h1{font-size:1.45rem}.facts,.shares{grid-template-columns:1fr;gap:.9rem}"
	".facts{grid-template-columns:1fr 1fr}.big{font-size:1.4rem}"
	"figure svg text{font-size:14px}.groups{columns:1}"
	"th,td{padding-right:.8rem}}\n",
	"@media print{@page{margin:15mm}body{background:#fff;font-size:9.5pt}"
	"header,main,footer{max-width:none;padding:0}"
	"main>section{border:0;padding:0;margin:1.6rem 0 0}"
	".bar,.shares li,figure svg,tr,pre,.facts{break-inside:avoid}"
	"h2,h3,figcaption,caption,summary,.legend{break-after:avoid}figcaption{break-"
	"inside:avoid}"
	".figures{display:block;columns:2;column-gap:2rem}figure{margin:0 0 1.4rem}"
	"figure svg text{font-size:12px}table,caption{font-size:8pt}"
	".figures table{font-size:7pt}th,td{padding:.2rem .6rem .2rem 0}"
	"thead th{white-space:normal;vertical-align:bottom}td{min-width:0}"
	".scroll{overflow:visible}summary{list-style:none}"
	"*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
	"details::details-content{content-visibility:visible;display:block;"
	"height:auto;block-size:auto}}\n",
	NULL,
};
