/* Browsers refuse workers to pages that are opened from disk. The search then runs in a hidden
   frame that speaks to its page in the same way. */
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((resolve) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          const say = (data) => {
            const event = new MessageEvent("message", { data });
            this.dispatchEvent(event);
            if (this.onmessage) this.onmessage(event);
          };
          inside.postMessage = (data) => setTimeout(() => say(data));
          inside.importScripts = (...urls) => urls.reduce(
            (before, one) => before.then(() => load(inside.document, one)), Promise.resolve());
          load(inside.document, url).then(() => resolve(inside));
        };
      });
      document.body.appendChild(frame);
      this.frame = frame;
    }
    postMessage(data) {
      this.ready.then((inside) =>
        inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.frame.remove(); }
  };
  const load = (page, url) => new Promise((resolve, reject) => {
    const script = page.createElement("script");
    script.onload = resolve;
    script.onerror = reject;
    script.src = url;
    page.body.appendChild(script);
  });
}
