// Labels on their way to the server: at most one request at a time for the whole page, always the newest state of an item, and again until it
// is taken. So an earlier state can never overwrite a later one.

const AGAIN_SECONDS = [1, 2, 5, 10];

export class Saver {
  constructor(say) {
    this.say = say;
    this.waiting = new Map();
    this.busy = false;
    this.failures = 0;
    this.puts = 0; // states handed over so far
    window.addEventListener("beforeunload", (event) => { if (this.open) event.preventDefault(); });
    window.addEventListener("online", () => this.send());
    window.addEventListener("pagehide", () => this.send());
  }

  get open() { return this.busy || this.waiting.size > 0; }

  /** `wait`: milliseconds in which a newer state may still come, as while somebody types. */
  put(label, wait = 0) {
    this.puts += 1;
    this.waiting.set(label.item, label);
    this.say("Saving …", false);
    clearTimeout(this.timer);
    if (wait) this.timer = setTimeout(() => this.send(), wait); else this.send();
  }

  async send() {
    if (this.busy || !this.waiting.size) return;
    const [item, label] = this.waiting.entries().next().value;
    this.waiting.delete(item);
    this.busy = true;
    const problem = await put(label);
    this.busy = false;
    if (!problem) {
      this.failures = 0;
      if (this.waiting.size) this.send(); else this.say("Saved", false);
      return;
    }
    if (problem.final) { this.say(`Not saved: ${problem.words}`, true); return; }
    if (!this.waiting.has(item)) this.waiting.set(item, label);
    const seconds = AGAIN_SECONDS[Math.min(this.failures++, AGAIN_SECONDS.length - 1)];
    this.say("Not saved: the server does not answer. Trying again; keep this page open.", true);
    setTimeout(() => this.send(), seconds * 1000);
  }
}

async function put(label) {
  try {
    const answer = await fetch("api/labels", {method: "PUT", headers: {"Content-Type": "application/json"}, body: JSON.stringify(label), keepalive: true});
    if (answer.ok) return null;
    const words = (await answer.json().catch(() => ({}))).detail || `the server answered ${answer.status}`;
    return {words, final: answer.status < 500};
  } catch (error) {
    return {words: String(error), final: false};
  }
}
