//! Tokens, changed at random.

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Numbers from a seed (`SplitMix64`).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Changes token streams.
pub(super) struct Mutator<'a> {
    pub(super) random: Random,
    /// Tokens to put in.
    pub(super) pool: &'a [TokenTree],
}

impl Mutator<'_> {
    /// The same tokens with one to four changes, anywhere in them.
    pub(super) fn mutate(&mut self, tokens: &TokenStream) -> TokenStream {
        let mut tokens = tokens.clone();
        for _ in 0..=self.random.below(4) {
            tokens = self.once(tokens);
        }
        tokens
    }

    fn once(&mut self, tokens: TokenStream) -> TokenStream {
        let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let groups: Vec<usize> = (0..tokens.len())
            .filter(|i| matches!(&tokens[*i], TokenTree::Group(_)))
            .collect();
        if !groups.is_empty() && !self.random.one_in(4) {
            let chosen = groups[self.random.below(groups.len())];
            if let TokenTree::Group(group) = &tokens[chosen] {
                let inside = self.once(group.stream());
                tokens[chosen] = Group::new(group.delimiter(), inside).into();
            }
            return tokens.into_iter().collect();
        }
        if tokens.is_empty() {
            return self.token().into();
        }
        let at = self.random.below(tokens.len());
        match self.random.below(9) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at].clone()),
            2 => {
                let other = self.random.below(tokens.len());
                tokens.swap(at, other);
            }
            3 => tokens.truncate(at),
            4 => drop(tokens.drain(..at)),
            5 => tokens[at] = self.token(),
            6 => tokens.insert(at, self.token()),
            7 => {
                if let TokenTree::Group(group) = &tokens[at] {
                    let delimiter = self.delimiter();
                    tokens[at] = Group::new(delimiter, group.stream()).into();
                }
            }
            _ => {
                // Out of its brackets.
                if let TokenTree::Group(group) = tokens.remove(at) {
                    tokens.splice(at..at, group.stream());
                }
            }
        }
        tokens.into_iter().collect()
    }

    /// A token of the programs, or an odd one.
    fn token(&mut self) -> TokenTree {
        if !self.random.one_in(3) {
            return self.pool[self.random.below(self.pool.len())].clone();
        }
        let ident = |name| TokenTree::from(Ident::new(name, Span::call_site()));
        match self.random.below(20) {
            0 => Ident::new_raw("async", Span::call_site()).into(),
            1 => ident("crate"),
            2 => ident("self"),
            3 => ident("impl"),
            4 => ident("dyn"),
            5 => ident("static"),
            6 => ident("where"),
            7 => ident("_"),
            8 => ident("größe"),
            9 => Literal::string("").into(),
            10 => Literal::string("10s\n").into(),
            11 => Literal::byte_string(b"10s").into(),
            12 => Literal::f64_suffixed(1.5).into(),
            13 => Literal::u64_unsuffixed(u64::MAX).into(),
            14 => Literal::character('\'').into(),
            15 => Literal::string(&"x".repeat(70_000)).into(),
            16 => Group::new(self.delimiter(), TokenStream::new()).into(),
            17 => Group::new(self.delimiter(), self.token().into()).into(),
            18 => Punct::new('\'', Spacing::Joint).into(),
            _ => {
                let puncts = [
                    ',', ';', ':', '=', '<', '>', '#', '!', '&', '-', '.', '+', '*', '?', '$', '@',
                ];
                Punct::new(puncts[self.random.below(puncts.len())], Spacing::Alone).into()
            }
        }
    }

    fn delimiter(&mut self) -> Delimiter {
        [
            Delimiter::Parenthesis,
            Delimiter::Brace,
            Delimiter::Bracket,
            Delimiter::None,
        ][self.random.below(4)]
    }
}

/// All tokens, and what is in brackets for itself, too.
pub(super) fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let mut all = Vec::new();
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            all.extend(flat(group.stream()));
        }
        all.push(token);
    }
    all
}
