/*
 * Copyright 2026 nobody.
 */
package sample;

import java.util.List;

/** Finds things. */
@Deprecated
public class Sample<T extends Comparable<T>> {
  private int count = 0;

  /** By number. */
  public T find(int id) {
    return null;
  }

  @Override
  public T find(String name) {
    return null;
  }

  private String late = "x";

  interface Visitor {
    void visit(Node node);
  }

  enum Color { RED, GREEN }
}

record Point(int x, int y) {
  Point {
    check(x);
  }
}
