/*!
 * Copyright 2026 nobody. Licensed under MIT.
 */

'use strict'

const fs = require('fs')

/**
 * Greets by name.
 */
export default function greet (name) {
  return 'hello ' + name
}

export const twice = (x) => {
  return x * 2
}

var app = exports = module.exports = {}

// Uses a handler.
app.use = function use (fn) {
  return fn
}

Walker.prototype.walk = function () {}

defineGetter(req, 'query', function query () {
  return this.url
})

class Shape extends Base {
  static #count = 0

  // Area of it.
  area () {
    return 0
  }

  handle = () => {
    return 1
  }
}

app.listen(3000)
