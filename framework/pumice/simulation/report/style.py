"""How the report looks, light and dark."""

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#68707a;--rule:#e3e6ea;
--c0:#0b62c4;--c1:#c2410c;--c2:#15803d;--c3:#9333ea;--c4:#b0851a;--c5:#0e7490;--c6:#be185d;--c7:#57534e}
@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--dim:#98a1ab;--rule:#2c3238;
--c0:#6cb0ff;--c1:#ff9d66;--c2:#5fd08a;--c3:#c99bff;--c4:#e6c15a;--c5:#5cc8dd;--c6:#ff8ab8;--c7:#b8b2ac}}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:24px;margin:0 0 8px}h2{font-size:18px;margin:32px 0 8px}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:4px 16px 4px 0;text-align:right;white-space:nowrap}
th,td{border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left}
.plot{width:100%;height:auto;display:block}
.small{display:grid;grid-template-columns:repeat(auto-fill,minmax(280px,1fr));gap:8px 16px}
figure{margin:0}figcaption{font-weight:600;overflow-wrap:anywhere}
.grid{stroke:var(--rule);fill:none}.axis{stroke:var(--dim);fill:none}
.tick{fill:var(--dim);font-size:11px}
.line{fill:none;stroke-width:1.6;stroke-linejoin:round}
.dot{stroke-width:6;stroke-linecap:round}
.limit{stroke:var(--dim);stroke-dasharray:5 4}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}
.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}.c6{stroke:var(--c6)}.c7{stroke:var(--c7)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;margin:4px 0;padding:0}
.legend svg{width:24px;height:8px;margin-right:6px}
summary{cursor:pointer}
"""
"""The style sheet of the page."""
