import type { Dispatcher } from 'undici'

/** What is known of an answer once its headers are here. */
export type AnswerHead = { readonly status: number; readonly retryAfter: string | null }

/** The call's time was over before an answer's headers were here. */
export class AttemptTimedOut extends Error {
  override readonly name = 'AttemptTimedOut'
}

class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong'
}

const answerLimit = 64 * 1024

/**
 * One request, and the head of its answer. Of the body at most 64 KiB are read, and what becomes of it changes nothing;
 * the call ends with it or when `withinMs` are over, whichever comes first. Rejects with `AttemptTimedOut` or undici's
 * error when there was no head; afterwards nothing of the request is under way. By undici's handlers, for `request`
 * makes a stream and three listeners for an answer that nobody reads: a third of the time of a call.
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
      end(late) // not left to undici: a call still waiting for its connection can't be aborted yet
      running?.abort(late)
    }, withinMs)
    dispatcher.dispatch(request, {
      onRequestStart(controller) {
        running = controller
        if (late !== undefined) controller.abort(late)
      },
      onResponseStart(_controller, status, headers) {
        // RFC 9110 §15.2: what comes before the final answer is none.
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
