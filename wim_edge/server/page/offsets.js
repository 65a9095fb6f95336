// Offsets are characters (code points) of a text; JavaScript counts UTF-16 units, so both are told apart.

export class Offsets {
  constructor(text) {
    this.text = text;
    this.wide = [];  // where characters of two units stand
    let at = 0;
    for (const c of text) {
      if (c.length === 2) this.wide.push(at);
      at += 1;
    }
  }

  unit(at) {
    return at + firstOf(this.wide.length, (one) => this.wide[one] >= at);
  }

  // The character that a unit is in
  char(unit) {
    return unit - firstOf(this.wide.length, (one) => this.wide[one] + one >= unit);
  }

  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }
}

// The first of so many numbers for which a test holds that holds for all that follow; their count if it holds for none
export function firstOf(count, holds) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
