// In front of Scalar's own program, which makes styles while it runs. Those of its own are allowed by the nonce of the page,
// and written in the ways that the Content-Security-Policy allows: it needs no `unsafe-inline` then.
{
  const nonce = document.querySelector('meta[property=csp-nonce]').content;
  const { createElement } = document;
  document.createElement = function (name, options) {
    const element = createElement.call(this, name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name === 'style') this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  // Samples of code say how many lines they have, for numbers of lines that are not shown.
  const html = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML');
  Object.defineProperty(Element.prototype, 'innerHTML', {
    ...html,
    set(text) {
      html.set.call(this, String(text).replaceAll(' style="--line-count', ' data-lines="--line-count'));
    },
  });
}
