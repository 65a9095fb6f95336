// A host for `wim-edge worker` in Node (18 or later, nothing else): one process with the model, JSON lines to it and
// from it. Electron's main process uses it as it is.
//
//     node ask.mjs contract.pdf "Who may end it?"

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const LAST = new Set(['answer.finished', 'reading.finished', 'completion.finished', 'error'])

export class Worker {
  #child = null
  #waiting = new Map() // by request: the queue of its events that nobody has taken yet
  #number = 0

  // command: what starts the worker; options follow, such as ['--model', 'smollm2-135m', '--ctx', '4096']
  constructor (options = [], command = 'wim-edge') {
    this.command = command
    this.options = options
  }

  // Yields the events of a question as they come. Leaving the loop early cancels it.
  async * ask (documents, question, more = {}) {
    yield * this.#request({ do: 'ask', documents, question, ...more })
  }

  async * read (documents, more = {}) {
    yield * this.#request({ do: 'read', documents, ...more })
  }

  // Ends the reading of the question under way and has it answered from what was read
  answerNow (id) { this.#tell({ id, do: 'answer_now' }) }
  cancel (id) { this.#tell({ id, do: 'cancel' }) }
  judge (id, segment, accepted) { this.#tell({ id, do: 'judge', segment, accepted }) }

  kill () { // as if it had crashed
    this.#child?.kill('SIGKILL')
    this.#child = null
  }

  close () {
    this.#child?.stdin.end() // it ends with its input
    this.#child = null
  }

  async * #request (request) {
    const id = ++this.#number
    const queue = { events: [], wake: null, child: this.#started() }
    this.#waiting.set(id, queue)
    let isOver = false
    try {
      write(queue.child, { id, ...request })
      while (!isOver) {
        while (queue.events.length === 0) {
          await new Promise(resolve => { queue.wake = resolve })
        }
        const event = queue.events.shift()
        this.#resumeIfRead(queue.child)
        isOver = LAST.has(event.type)
        yield event
      }
    } finally {
      this.#waiting.delete(id)
      if (!isOver) write(queue.child, { id, do: 'cancel' })
      this.#resumeIfRead(queue.child)
    }
  }

  // A request that is over, or went with its process, is told nothing
  #tell (control) {
    const queue = this.#waiting.get(control.id)
    if (queue !== undefined) write(queue.child, control)
  }

  // The process, started at the first request and again after it has ended
  #started () {
    if (this.#child !== null) return this.#child
    // A group of its own, so that Ctrl-C reaches the host alone (on Windows that would open a console)
    const detached = process.platform !== 'win32'
    const child = spawn(this.command, ['worker', ...this.options], { stdio: ['pipe', 'pipe', 'inherit'], detached })
    this.#child = child
    child.lines = createInterface({ input: child.stdout })
    child.lines.on('line', line => this.#hear(JSON.parse(line)))
    child.stdin.on('error', () => {}) // it has ended: 'close' tells
    child.on('error', error => this.#end(child, error.message))
    child.on('close', (code, signal) => this.#end(child, `it ended (${signal ?? `exit code ${code}`})`))
    return child
  }

  // Back-pressure: if the host takes events more slowly than they come, the worker waits in its pipe
  #hear ({ id, ...event }) {
    const queue = this.#waiting.get(id)
    if (queue === undefined) return // of one that was left early
    queue.events.push({ id, ...event })
    queue.wake?.()
    if (queue.events.length > 100) queue.child.lines.pause()
  }

  #resumeIfRead (child) {
    const waiting = [...this.#waiting.values()].filter(queue => queue.child === child)
    if (!child.lines.closed && !waiting.some(queue => queue.events.length > 50)) child.lines.resume()
  }

  // Tells every request that it had under way; the next one starts the process again, and what was read is kept on disk
  #end (child, message) {
    if (this.#child === child) this.#child = null
    for (const [id, queue] of this.#waiting) {
      if (queue.child !== child) continue
      queue.events.push({ id, type: 'error', error: 'EngineError', message: `the worker is gone: ${message}`, hint: 'Ask again.' })
      queue.wake?.()
    }
  }
}

function write (child, line) {
  if (child.stdin.writable) child.stdin.write(JSON.stringify(line) + '\n')
}
