// Everything here is about shapes and how they are drawn.

import { a } from './a'
import type { B } from './b'

/** A shape. */
export interface Shape<T> {
  area(): number
  name: string
}

export type Maybe<T> = T | undefined

enum Color {
  Red,
}

export function pick(x: string): string
export function pick(x: number): number
export function pick(x: any): any {
  return x
}

namespace Geometry {
  export function inside(): void {}
}

@sealed
export abstract class Box<T> {
  constructor(private readonly value: T) {}

  @log()
  open(): T {
    return this.value
  }

  abstract close(): void
}

export const limit: number = 10
declare const VERSION: string
