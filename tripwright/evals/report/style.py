"""How the page looks. A string, not a data file, so that no way of packaging can lose it.

Series colours are Okabe and Ito's palette, which stays apart under all common kinds of colour
blindness; the dark page uses lighter tints.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#f7f7f5", "panel": "#ffffff", "ink": "#1d2430", "muted": "#626b78", "rule": "#e4e5e2", "axis": "#aeb3ba", "soft": "#f1f2f0",
    "pass": "#00704f", "fail": "#b3400a", "warn": "#fdf1df", "lit": "#fff0a8", "on": "#ffffff",
    "c0": "#0072b2", "c1": "#d55e00", "c2": "#009e73", "c3": "#b8578f", "c4": "#b98400", "c5": "#8a94a3", "c6": "#56b4e9", "c7": "#4a5261",
}  # fmt: skip
DARK = {
    "paper": "#14171c", "panel": "#1b1f26", "ink": "#e6e8eb", "muted": "#98a1ad", "rule": "#2c323b", "axis": "#4d5561", "soft": "#232830",
    "pass": "#3ecf9b", "fail": "#ff9257", "warn": "#3a2e1a", "lit": "#5a4b12", "on": "#10151d",
    "c0": "#4ba6df", "c1": "#f0803c", "c2": "#2fc096", "c3": "#d98bb8", "c4": "#e0b040", "c5": "#8a94a3", "c6": "#8fd0f5", "c7": "#c3c9d2",
}  # fmt: skip


def _variables(theme: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in theme.items())


_KEYS = "".join(f"i.s{i}{{background:var(--c{i})}}" for i in range(8))

PAGE_CSS = (
    f"""
:root{{color-scheme:light dark;{_variables(LIGHT)}}}
@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{_variables(DARK)}}}}}
:root[data-theme=light]{{color-scheme:light}}@media screen{{:root[data-theme=dark]{{color-scheme:dark;{_variables(DARK)}}}}}
"""
    + """
*{box-sizing:border-box}html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);
  font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
header,main,footer{max-width:1180px;margin:0 auto;padding:0 24px}header{padding-top:36px}
.brand{margin:0;color:var(--muted);font-size:13px;letter-spacing:.02em}
h1{font-size:30px;line-height:1.2;margin:2px 0 4px;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{font-size:21px;margin:0 0 6px;letter-spacing:-.01em}h3{font-size:15px;margin:26px 0 8px}h4{font-size:14px;margin:18px 0 8px}
h5{font-size:13px;margin:12px 0 4px}h5:first-letter{text-transform:uppercase}header p{margin:0}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin-top:16px;padding-bottom:12px;border-bottom:1px solid var(--rule)}
a{color:var(--c0);text-decoration:none}a:hover{text-decoration:underline}section{margin:38px 0}
.lede{margin:0 0 16px;color:var(--muted);max-width:78ch}.muted{color:var(--muted)}
.cards{display:flex;flex-wrap:wrap;gap:14px;margin-top:12px}.card{flex:1 1 215px;max-width:400px}
.card,figure,.scroll{background:var(--panel);border:1px solid var(--rule);border-radius:10px}.card{padding:16px 18px}
.card h3{margin:0;font-size:14px;display:flex;align-items:center;gap:8px}.card p{margin:0;font-size:13px}
.card .big{font-size:38px;line-height:1.15;font-weight:680;letter-spacing:-.02em;margin:6px 0 2px;font-variant-numeric:tabular-nums}
.card .interval{font-variant-numeric:tabular-nums}.card .change{font-weight:600;margin-top:4px}
i[class^=s]{width:10px;height:10px;border-radius:3px;display:inline-block}.key{margin-left:10px;white-space:nowrap}
.key i{margin-right:5px}.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr));gap:14px}
.scroll+.charts{margin-top:14px}
.smalls{display:grid;grid-template-columns:repeat(auto-fill,minmax(205px,1fr));gap:10px}
figure{margin:0;padding:14px 16px 10px;min-width:0}figcaption{font-weight:620;font-size:14px;margin-bottom:6px}
.smalls figure{padding:10px 10px 4px;display:flex;flex-direction:column;justify-content:space-between}
.smalls figcaption{font-size:12.5px;margin-bottom:2px;display:flex;justify-content:space-between;gap:8px}
.smalls figcaption .muted{font-weight:400;font-variant-numeric:tabular-nums}figure.wide{margin-top:14px;max-width:680px}
.note{margin:2px 0 4px;color:var(--muted);font-size:12.5px}
svg.chart{display:block;width:100%;height:auto}svg.strip{display:block;width:200px;height:auto}
.strips rect{fill:var(--ink);fill-opacity:0}.strips rect:hover{fill-opacity:.07}
.scroll{overflow-x:auto;width:fit-content;max-width:100%;min-width:min(100%,560px)}
.wider::before{content:"scrolls sideways →";position:sticky;left:0;display:inline-block;padding:6px 9px 0;font-size:12px;color:var(--muted)}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{padding:8px 14px;text-align:left;border-top:1px solid var(--rule);vertical-align:top}
thead th{border-top:0;color:var(--muted);font-weight:550;font-size:12.5px;white-space:nowrap;vertical-align:bottom}
tbody th{font-weight:550}td small,th small{display:block;color:var(--muted);font-weight:400;font-size:12px}
.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.stripcell{width:228px;vertical-align:middle}
.scale{display:flex;justify-content:space-between;width:200px}
.card-table tr:first-child>*{border-top:0}.card-table th{width:260px;color:var(--muted);font-weight:500;overflow-wrap:anywhere}
.card-table td{overflow-wrap:anywhere;font-family:var(--mono)}
:root{--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
code,pre{font-family:var(--mono);font-size:12.5px}
pre{margin:6px 0;padding:10px 12px;background:var(--soft);border-radius:7px;white-space:pre-wrap;overflow-wrap:anywhere;
  max-height:420px;overflow-y:auto}
.warning{background:var(--warn);border-radius:8px;padding:9px 13px;margin:8px 0}.pass{color:var(--pass)}.fail{color:var(--fail)}
.na{color:var(--muted)}.steps{margin:0;padding-left:20px}.steps li{padding:3px 0}
.fold{margin-top:22px}.fold>summary{cursor:pointer;font-weight:620;color:var(--c0)}
summary small{margin-left:8px;color:var(--muted);font-weight:400}
.call,.prompt,.answer{margin:5px 0;padding:5px 10px;border-left:3px solid var(--rule);background:var(--soft);border-radius:0 7px 7px 0}
.call summary,.prompt summary,.answer summary{cursor:pointer;overflow-wrap:anywhere}.call{border-left-color:var(--c0)}
.answer{border-left-color:var(--c2)}.call pre,.prompt pre,.answer pre{background:var(--panel)}
.said{white-space:pre-wrap;overflow-wrap:anywhere;margin:9px 0 5px}.facts,.plain{margin:0;padding:0;list-style:none}
.facts li{padding:2px 0 2px 20px;text-indent:-20px;font-size:14px}
.facts small{display:block;text-indent:0;color:var(--muted);font-size:12.5px;overflow-wrap:anywhere}
.plain li{padding:2px 0;color:var(--muted)}.days{display:grid;grid-template-columns:repeat(auto-fit,minmax(250px,1fr));gap:10px}
.day{border:1px solid var(--rule);border-radius:8px;padding:10px 14px}.day h5{margin:0 0 6px}
.day h5 span{font-weight:400;color:var(--muted)}.day dl{margin:0;font-size:13px}.day dt{color:var(--muted);font-size:12px}
.day dd{margin:0 0 5px;overflow-wrap:anywhere}footer{padding-bottom:40px;color:var(--muted);font-size:13px}
@media (max-width:760px){header,main,footer{padding-left:14px;
  padding-right:14px}h1{font-size:25px}th,td{padding:7px 9px}
  .charts figure{padding-left:8px;padding-right:8px}}
.skip{position:absolute;left:-999px;top:0;background:var(--panel);padding:8px 14px;z-index:9}.skip:focus{left:12px;top:12px}
:focus-visible{outline:3px solid var(--c0);outline-offset:2px;border-radius:4px}main:focus{outline:none}.printed{display:none}
.theme{float:right;font:inherit;font-size:13px;color:var(--muted);background:var(--panel);border:1px solid var(--axis);border-radius:7px;
  padding:4px 10px;cursor:pointer}.theme:hover{color:var(--ink)}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{:root{color-scheme:light}body{background:#fff;font-size:11pt}header,main,footer{max-width:none;padding:0}
  nav,.theme,.skip,noscript{display:none}.printed{display:block;color:var(--muted)}section{margin:22px 0}h2,h3{break-after:avoid}
  figure,.card,tr{break-inside:avoid}.scroll{overflow:visible;border:0;width:100%}.scroll th,.scroll td{padding:4px 6px}
  .charts{grid-template-columns:1fr 1fr}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
    + _KEYS
)
