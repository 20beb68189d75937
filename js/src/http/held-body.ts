import { guests, NEVER, type Wake, wakesOf } from '../base/wakes.js';
import { timedOut } from '../pipeline/cuts.js';
import type { Kept } from '../pipeline/kept.js';

/** How many bytes of an answer are read before its caller asks for them: a short answer ends also where no reader comes. */
const AHEAD = 64 << 10;

type Controller = ReadableStreamDefaultController | ReadableByteStreamController;
type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Whether the body of an answer is still to come. */
export function isRead({ status, headers, body, bodyUsed }: Response): boolean {
  // What is no answer of fetch is left as it is.
  return (
    status >= 200 &&
    typeof body?.getReader === 'function' &&
    !bodyUsed &&
    !body.locked &&
    headers?.get?.('content-length') !== '0'
  );
}

/**
 * An answer whose body holds what its call keeps until it ends. `idle` is the longest time in milliseconds
 * between two parts of it.
 */
export function hold(response: Response, kept: Kept, idle: number): Response {
  if (!kept.places && kept.cutAt === NEVER && idle === NEVER) return response;
  const Made = response instanceof Response ? Response : (response as Response).constructor;
  const body = bodyOf((response as Response).body as ReadableStream<Uint8Array>, kept, idle);
  return like(response, new (Made as typeof Response)(body, response));
}

/** Gives an answer, and its clones, what only fetch can set. */
function like(response: Response, made: Response): Response {
  const { url, redirected, type } = response;
  const clone = (): Response => like(response, Object.getPrototypeOf(made).clone.call(made));
  for (const [name, value] of Object.entries({ url, redirected, type, clone })) {
    Object.defineProperty(made, name, { value });
  }
  return made;
}

/** Bodies that nothing refers to will not be read: what their calls keep is returned. */
const garbage =
  globalThis.FinalizationRegistry &&
  new FinalizationRegistry<HeldBody>((body) => void body.cancel(undefined));

function bodyOf(source: ReadableStream<Uint8Array>, kept: Kept, idle: number): ReadableStream {
  const type = isOfBytes(source) ? 'bytes' : undefined;
  const held = new HeldBody(source.getReader(), kept, idle);
  const size = (part?: { byteLength?: number }): number => part?.byteLength ?? 1;
  const stream: ReadableStream = new ReadableStream(
    {
      type,
      start: (controller: Controller) => held.bind(controller),
      pull(controller: Controller) {
        held.keep(stream.locked ? controller : undefined);
        held.read(controller);
      },
      cancel: (reason: unknown) => held.cancel(reason),
    } as UnderlyingDefaultSource,
    type ? { highWaterMark: AHEAD } : { highWaterMark: AHEAD, size },
  );
  garbage?.register(stream, held);
  return stream;
}

/** Whether the parts of a stream belong to who reads them, who may read them into own memory. */
function isOfBytes(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

/**
 * The body of an answer on its way to who reads it. Only while a read waits does it refer to the stream, and
 * through it to the reader: a stream that has no user is garbage.
 */
class HeldBody implements Wake {
  due = NEVER;
  place = -1;
  // The connection keeps the process alive.
  waits = 0;
  unset = false;
  private readonly wakes = wakesOf(this.kept.owner.clock);
  private readonly guest = guests?.greet(this.wakes, this);
  private stream: { deref(): Controller | undefined } = { deref: () => undefined };
  /** The controller, while a read may wait. */
  private waiting: Controller | undefined;
  private reading = false;
  private over = false;
  /** Why the stream fails when what came before has been read. */
  private failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly source: Reader,
    private readonly kept: Kept,
    private readonly idle: number,
  ) {
    kept.signal?.addEventListener('abort', this);
    this.arm();
  }

  bind(controller: Controller): void {
    this.stream = globalThis.WeakRef ? new WeakRef(controller) : { deref: () => controller };
  }

  /** Keeps the stream of a read that waits, to which nothing else refers. */
  keep(controller: Controller | undefined): void {
    this.waiting = controller?.desiredSize === AHEAD ? controller : undefined;
  }

  /** Reads the next part. What comes of it is not a promise of the stream, which would refer to it. */
  read(controller: Controller): void {
    if (this.failure && controller.desiredSize === AHEAD) controller.error(this.failure.error);
    if (this.reading || this.over) return;
    this.reading = true;
    this.arm();
    this.source.read().then(
      ({ done, value }) => {
        this.reading = false;
        if (this.over) return;
        if (done) this.close();
        else this.pass(value);
      },
      (error) => this.fail(error, true),
    );
  }

  private pass(part: Uint8Array): void {
    this.arm();
    const controller = this.controller();
    if (!controller) return;
    // A stream of bytes refuses an empty part.
    if (part.byteLength === 0) {
      this.read(controller);
      return;
    }
    try {
      controller.enqueue(part as never);
      // No read took it.
      if ((controller.desiredSize as number) < AHEAD) this.waiting = undefined;
    } catch (error) {
      this.fail(error);
    }
  }

  private controller(): Controller | undefined {
    return this.waiting ?? this.stream.deref();
  }

  private close(): void {
    const controller = this.controller() as ReadableByteStreamController | undefined;
    this.end();
    controller?.close();
    controller?.byobRequest?.respond(0);
  }

  /** The caller, or who reads, needs no more of it. */
  async cancel(reason: unknown): Promise<void> {
    if (this.over) return;
    this.end();
    await this.source.cancel(reason).catch(() => {});
  }

  /** The time has come to cut it. */
  wake(): void {
    const { cutAt, step, owner } = this.kept;
    this.fail(timedOut(owner.clock.now() >= cutAt ? step : 'idle'));
  }

  /** The signal of the caller was aborted. */
  handleEvent(): void {
    this.fail(this.kept.signal?.reason);
  }

  /** Ends it with an error, after what came before where it broke off by itself. */
  private fail(error: unknown, after = false): void {
    if (this.over) return;
    const controller = this.controller();
    this.end();
    this.failure = { error };
    if (!after || controller?.desiredSize === AHEAD) controller?.error(error);
    this.kept.running.abort(error);
    this.source.cancel(error).catch(() => {});
  }

  /** Sets when it is cut: by a timeout, or where no part comes. */
  private arm(): void {
    const { kept, idle, reading } = this;
    const idleAt = reading && idle !== NEVER ? kept.owner.clock.now() + idle : NEVER;
    this.wakes.set(this, Math.min(kept.cutAt, idleAt));
  }

  private end(): void {
    this.over = true;
    this.waiting = undefined;
    this.wakes.set(this, NEVER);
    this.guest?.leave();
    this.kept.signal?.removeEventListener('abort', this);
    this.kept.release();
  }
}
