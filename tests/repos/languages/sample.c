/* Copyright 2026 nobody. */
#include <stdio.h>

#define LIMIT 10
#define SQUARE(x) ((x) * (x))

/* A point in the plane. */
typedef struct point {
    int x;
} point_t;

struct node {
    struct node *next;
};

static const char *names[] = { "a", "b" };

extern int *find(int key);

#ifdef FAST
/* Adds two numbers. */
static inline int add(int a, int b)
{
    return a + b;
}
#endif

int (*choose(int which))(int, int)
{
    return which ? add : 0;
}
