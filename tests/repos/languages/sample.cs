// Copyright 2026 nobody.
using System;

namespace Sample
{
    /// <summary>Stores things.</summary>
    [Serializable]
    public class Store<T> : IStore
    {
        private readonly int _limit = 1;

        /// <summary>How many.</summary>
        public int Count { get; set; }

        public Store(int limit)
        {
            _limit = limit;
        }

        public T Find(int id) => default;

        public T Find(string name)
        {
            int Local() => 1;
            return default;
        }

        public static bool operator ==(Store<T> a, Store<T> b) => true;
    }

    public enum Color { Red }

    public delegate void Changed(object sender);
}
