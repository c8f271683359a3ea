// Computes the difference of large states in a worker, so that the page stays responsive. Without a worker, computes it
// in slices on the main thread.
"use strict";
{
  const { compareStates, finish } = globalThis.xlaExplorer;
  const SLICE = 12; // milliseconds per task

  const SOURCE = `"use strict";
    const compareStates = ${compareStates};
    const finish = ${finish};
    onmessage = ({ data: [asked, states] }) => postMessage([asked, finish(compareStates(...states))]);`;

  const sliced = async (steps) => {
    for (;;) {
      const start = performance.now();
      while (performance.now() - start < SLICE) {
        const { done, value } = steps.next();
        if (done) return value;
      }
      await new Promise((go) => setTimeout(go));
    }
  };

  // All explorers of a page share one worker, which is created on first use.
  class Comparer {
    constructor() {
      Object.assign(this, { waiting: new Map(), asked: 0, worker: null, isBarred: false });
    }

    start() {
      if (this.worker || this.isBarred) return;
      try {
        const address = URL.createObjectURL(new Blob([SOURCE], { type: "text/javascript" }));
        this.worker = new Worker(address);
        this.worker.onmessage = ({ data: [asked, found] }) => {
          this.waiting.get(asked)?.tell(found);
          this.waiting.delete(asked);
        };
        this.worker.onerror = () => this.giveUp();
      } catch {
        this.giveUp();
      }
    }

    // A page may forbid workers. Then compute all pending differences on the main thread.
    giveUp() {
      this.worker?.terminate();
      Object.assign(this, { worker: null, isBarred: true });
      for (const { states, tell } of this.waiting.values()) sliced(compareStates(...states)).then(tell);
      this.waiting.clear();
    }

    compare(states) {
      this.start();
      if (!this.worker) return sliced(compareStates(...states));
      return new Promise((tell) => {
        this.waiting.set(++this.asked, { states, tell });
        this.worker.postMessage([this.asked, states]);
      });
    }
  }

  Object.assign(globalThis.xlaExplorer, { comparer: new Comparer() });
}
