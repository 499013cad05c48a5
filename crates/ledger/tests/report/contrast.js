// Every piece of text that can be seen, whose contrast with what lies behind it is below 4.5.
(() => {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return color.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const over = (front, back) => front.slice(0, 3).map((c, i) => c * front[3] + back[i] * (1 - front[3]));
  const behind = (element) => {
    // A number in a chart stands on its mark; a pattern is judged by the page behind it.
    const mark = element.closest("a")?.querySelector("circle");
    if (mark && element.matches(".mark")) return parse(getComputedStyle(mark).fill);
    for (let one = element; one; one = one.parentElement) {
      const color = parse(getComputedStyle(one).backgroundColor);
      if (color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  let checked = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("option, title, :disabled") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const front = over(parse(element.closest("svg") ? style.fill : style.color), back);
    const [a, b] = [light(front), light(back)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    checked += 1;
    if (contrast < 4.5) faint.push(`${contrast.toFixed(2)} ${element.outerHTML.slice(0, 120)}`);
  }
  return { checked, faint: [...new Set(faint)].slice(0, 20) };
})()
