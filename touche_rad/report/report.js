"use strict";
/* The report: the tabs, and the view that the address names. */
{
  const { html } = rad;
  const tabs = [...document.querySelectorAll(".bar nav a")];
  const names = tabs.map((tab) => tab.hash.slice(1));
  const views = {};
  const App = () => {
    const address = rad.report.useAddress();
    const { at = "" } = address;
    const named = /^[dwq]\d/.test(at) ? names.find((name) => name[0] === at[0]) : at;
    const name = names.includes(named) ? named : names[0];
    /* Drawn at once, for the next key. */
    const turnTo = (by) => () => {
      location.hash = names.at((names.indexOf(name) + by) % names.length);
      rad.report.go(rad.address.read());
    };
    rad.useMemo(() => {
      rad.keys.clear();
      rad.keys({ t: ["Next tab", turnTo(1)], T: ["Previous tab", turnTo(-1)] });
    }, [name]);
    rad.useEffect(() => {
      for (const tab of tabs) {
        const isCurrent = tab.hash === `#${name}`;
        tab.ariaCurrent = isCurrent ? "page" : null;
        if (isCurrent) {
          tab.scrollIntoView({ inline: "nearest" });
        }
      }
      scrollTo(0, 0);
    }, [name]);
    const View = (views[name] ??= rad.report.tabs[name]());
    return html`<${View} key=${name} ...${{ address }} />`;
  };
  const main = $("main");
  main.replaceChildren();
  rad.mount(html`<${App} />`, main);
}
