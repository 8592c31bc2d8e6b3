import type { Dispatcher } from 'undici'

/** The part of an answer that its headers give. */
export type AnswerHead = { readonly status: number; readonly retryAfter: string | null }

/** The call's time limit passed before the headers of an answer arrived. */
export class AttemptTimedOut extends Error {
  override readonly name = 'AttemptTimedOut'
}

class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong'
}

const answerLimit = 64 * 1024

/**
 * Sends one request and resolves to the head of its answer when the body ends, when 64 KiB of it are read, or after
 * `withinMs`. Rejects with `AttemptTimedOut` or undici's error when no head arrived; the request is then aborted.
 *
 * Uses undici's `dispatch`: `request` creates a stream and listeners for a body that is not used, a third of the time of
 * a call.
 */
export const oneCall = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  withinMs: number,
): Promise<AnswerHead> =>
  new Promise((resolve, reject) => {
    let running: Dispatcher.DispatchController | undefined
    let head: AnswerHead | undefined
    let bytes = 0
    const end = (error?: Error): void => {
      clearTimeout(watchdog)
      if (head === undefined) reject(error)
      else resolve(head)
    }
    let late: AttemptTimedOut | undefined
    const watchdog = setTimeout(() => {
      late = new AttemptTimedOut()
      end(late) // undici cannot abort a call that still waits for its connection
      running?.abort(late)
    }, withinMs)
    dispatcher.dispatch(request, {
      onRequestStart(controller) {
        running = controller
        if (late !== undefined) controller.abort(late)
      },
      onResponseStart(_controller, status, headers) {
        // 1xx answers precede the final answer (RFC 9110 §15.2).
        if (status >= 200) head = { status, retryAfter: [headers['retry-after']].flat()[0] ?? null }
      },
      onResponseData(controller, piece) {
        bytes += piece.length
        if (bytes > answerLimit) controller.abort(new AnswerTooLong())
      },
      onResponseEnd: () => end(),
      onResponseError: (_controller, error) => end(error),
    })
  })
