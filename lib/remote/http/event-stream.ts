/**
 * Reads an event stream (HTML Living Standard 9.2) piece by piece and passes the data of each event to `onData`. Other
 * fields, comments and meaningless lines are dropped. Reads each character once and builds nothing from a line that is
 * not data: a stream may be meant to keep its reader busy.
 */
export function eventStream(onData: (data: string) => void): (piece: string) => void {
  let isFirst = true;
  /** Set if the last character was a carriage return: a line feed after it belongs to the same line end. */
  let isInLineEnd = false;
  /** Part of a line whose end has not come yet. */
  let begun = '';
  /** First data line of the current event; `more` holds those after it. */
  let data: string | undefined;
  let more: string[] = [];

  const takeLine = (text: string, start: number, end: number): void => {
    if (start === end) {
      if (data === undefined) return;
      const whole = more.length === 0 ? data : `${data}\n${more.join('\n')}`;
      data = undefined;
      if (more.length > 0) more = [];
      onData(whole);
      return;
    }
    if (!isDataLine(text, start, end)) return;
    const valueAt = text.charCodeAt(start + 5) === 0x20 ? start + 6 : start + 5;
    const value = valueAt < end ? text.slice(valueAt, end) : '';
    if (data === undefined) data = value;
    else more.push(value);
  };

  return (came) => {
    if (came === '') return;
    const piece = isFirst && came.startsWith('\ufeff') ? came.slice(1) : came;
    isFirst = false;
    let start = isInLineEnd && piece.charCodeAt(0) === 0x0a ? 1 : 0;
    if (piece !== '') isInLineEnd = false;
    for (let at = start; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (code !== 0x0a && code !== 0x0d) continue;
      if (begun === '') takeLine(piece, start, at);
      else {
        const line = begun + piece.slice(start, at);
        begun = '';
        takeLine(line, 0, line.length);
      }
      if (code === 0x0d) {
        if (at + 1 === piece.length) isInLineEnd = true;
        else if (piece.charCodeAt(at + 1) === 0x0a) at++;
      }
      start = at + 1;
    }
    begun += piece.slice(start);
  };
}

/** Whether the line begins with `data:`, or is `data`. */
function isDataLine(text: string, start: number, end: number): boolean {
  return (
    end - start > 3 &&
    text.charCodeAt(start) === 0x64 &&
    text.charCodeAt(start + 1) === 0x61 &&
    text.charCodeAt(start + 2) === 0x74 &&
    text.charCodeAt(start + 3) === 0x61 &&
    (end - start === 4 || text.charCodeAt(start + 4) === 0x3a)
  );
}
