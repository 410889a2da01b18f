import React from 'react'

export type Props = { title: string }

/** A card. */
export function Card({ title }: Props) {
  return <h1>{title}</h1>
}

export const List = () => <ul><Card title="a" /></ul>
