//! An impl block, read no deeper than the signatures of its methods.
//!
//! Bodies and other items stay the tokens that they are: a half-written body is the compiler's to report, and
//! an editor can complete inside it.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt};
use syn::{
    Attribute, Generics, Path, Signature, Token, Type, Visibility, WhereClause, braced,
    ext::IdentExt,
    parse::{Parse, ParseStream, discouraged::Speculative},
    token,
};

use super::unfinished::{self, Progress};

/// `impl<…> Type where … { … }`, or the same with a trait, which is then refused.
pub(crate) struct ImplBlock {
    pub(crate) attrs: Vec<Attribute>,
    unsafety: Option<Token![unsafe]>,
    impl_token: Token![impl],
    pub(crate) generics: Generics,
    /// `!` and `Trait`, as they stand before `for`.
    pub(crate) of_trait: Option<(TokenStream, Token![for])>,
    pub(crate) self_ty: Type,
    brace: token::Brace,
    inner_attrs: Vec<Attribute>,
    pub(crate) items: Vec<BlockItem>,
}

/// An item of an impl block.
pub(crate) enum BlockItem {
    Method(Box<Method>),
    /// A constant, a type or the call of a macro.
    Other {
        attrs: Vec<Attribute>,
        tokens: TokenStream,
    },
    /// What is not finished: the compiler has refused it already, perhaps, and we get its tokens all the same.
    Unreadable {
        attrs: Vec<Attribute>,
        tokens: TokenStream,
        /// What cannot be read, if it is not certain that the compiler has said so.
        error: Option<syn::Error>,
    },
}

/// A method: its signature, and the rest as tokens.
pub(crate) struct Method {
    pub(crate) attrs: Vec<Attribute>,
    vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenTree,
}

impl Parse for ImplBlock {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let unsafety = input.parse()?;
        let impl_token = input.parse()?;
        let mut generics: Generics = if input.peek(Token![<]) {
            input.parse()?
        } else {
            Generics::default()
        };
        let negative: Option<Token![!]> = input.parse()?;
        let mut self_ty: Type = input.parse()?;
        let mut of_trait = None;
        if input.peek(Token![for]) {
            let mut tokens = negative.to_token_stream();
            self_ty.to_tokens(&mut tokens);
            of_trait = Some((tokens, input.parse()?));
            self_ty = input.parse()?;
        }
        generics.where_clause = input.parse::<Option<WhereClause>>()?;
        let content;
        let brace = braced!(content in input);
        let inner_attrs = content.call(Attribute::parse_inner)?;
        let mut items = Vec::new();
        while !content.is_empty() {
            items.push(content.parse()?);
        }
        Ok(Self {
            attrs,
            unsafety,
            impl_token,
            generics,
            of_trait,
            self_ty,
            brace,
            inner_attrs,
            items,
        })
    }
}

impl Parse for BlockItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let ahead = input.fork();
        Ok(if is_method(input) {
            match method(&ahead) {
                Ok((vis, sig, body)) => {
                    input.advance_to(&ahead);
                    Self::Method(Box::new(Method {
                        attrs,
                        vis,
                        sig,
                        body,
                    }))
                }
                Err(error) => {
                    let mut tokens = unfinished::item(input)?;
                    let error = match unfinished::function(&tokens) {
                        Progress::Perhaps => Some(error),
                        Progress::Nearly => None,
                        Progress::Begun => {
                            tokens = TokenStream::new();
                            None
                        }
                    };
                    Self::Unreadable { attrs, tokens, error }
                }
            }
        } else if is_other(input) {
            let tokens = other_item(input)?;
            Self::Other { attrs, tokens }
        } else {
            // Nothing else may stand in a block, which the compiler says.
            let tokens = unfinished::item(input)?;
            let error = None;
            Self::Unreadable { attrs, tokens, error }
        })
    }
}

fn method(input: ParseStream<'_>) -> syn::Result<(Visibility, Signature, TokenTree)> {
    let (vis, sig, body) = (input.parse()?, input.parse()?, input.parse()?);
    // A body that is missing is the compiler's to report.
    if is_body(&body) || matches!(&body, TokenTree::Punct(punct) if punct.as_char() == ';') {
        return Ok((vis, sig, body));
    }
    Err(syn::Error::new(
        body.span(),
        "expected the method's body, `{ … }`",
    ))
}

/// Whether a function comes next: nothing but words and the name of an ABI is before `fn`.
fn is_method(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    if ahead.parse::<Visibility>().is_err() {
        return false;
    }
    while !ahead.peek(Token![fn]) {
        let word = ahead.peek(syn::Ident::peek_any) || ahead.peek(syn::LitStr);
        if !word || ahead.parse::<TokenTree>().is_err() {
            return false;
        }
    }
    true
}

/// Whether a constant, a type or the call of a macro comes next.
fn is_other(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    if ahead.parse::<Visibility>().is_err() {
        return false;
    }
    let is_call = |ahead: ParseStream<'_>| ahead.call(Path::parse_mod_style).is_ok() && ahead.peek(Token![!]);
    ahead.peek(Token![const]) || ahead.peek(Token![type]) || is_call(&ahead)
}

/// `{ … }`, perhaps as the `$body:block` of a `macro_rules!` macro.
fn is_body(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    match group.delimiter() {
        Delimiter::Brace => true,
        Delimiter::None => {
            let mut inside = group.stream().into_iter();
            inside.next().is_some_and(|token| is_body(&token)) && inside.next().is_none()
        }
        Delimiter::Parenthesis | Delimiter::Bracket => false,
    }
}

/// A constant or type (up to its semicolon), or a macro's call (which may end with a brace instead).
fn other_item(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let ends_with_brace = {
        let ahead = input.fork();
        ahead.parse::<Visibility>().is_ok() && !ahead.peek(Token![const]) && !ahead.peek(Token![type])
    };
    let mut tokens = TokenStream::new();
    while !input.is_empty() {
        let token: TokenTree = input.parse()?;
        let last = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => ends_with_brace && group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        tokens.append(token);
        if last {
            break;
        }
    }
    Ok(tokens)
}

impl ToTokens for ImplBlock {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.unsafety.to_tokens(tokens);
        self.impl_token.to_tokens(tokens);
        self.generics.to_tokens(tokens);
        if let Some((of_trait, for_token)) = &self.of_trait {
            of_trait.to_tokens(tokens);
            for_token.to_tokens(tokens);
        }
        self.self_ty.to_tokens(tokens);
        self.generics.where_clause.to_tokens(tokens);
        // Unreadable items come last: the compiler does not always find its way back from them to those behind.
        let (unreadable, readable): (Vec<_>, Vec<_>) = self
            .items
            .iter()
            .partition(|item| matches!(item, BlockItem::Unreadable { .. }));
        self.brace.surround(tokens, |tokens| {
            tokens.append_all(&self.inner_attrs);
            tokens.append_all(readable);
            tokens.append_all(unreadable);
        });
    }
}

impl ToTokens for BlockItem {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Method(method) => {
                tokens.append_all(&method.attrs);
                method.vis.to_tokens(tokens);
                method.sig.to_tokens(tokens);
                method.body.to_tokens(tokens);
            }
            // Attributes alone would be reported once more.
            Self::Unreadable { tokens: item, .. } if item.is_empty() => {}
            Self::Other { attrs, tokens: item }
            | Self::Unreadable {
                attrs, tokens: item, ..
            } => {
                tokens.append_all(attrs);
                item.to_tokens(tokens);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    /// All that may stand in an impl block comes out as it went in; methods are told from the rest.
    #[test]
    fn a_block_is_read_and_written_unchanged() {
        let source = quote! {
            #[doc = "a block"]
            impl<'a, T: Clone + 'a, const N: usize> Keep<'a, T, N> where T: Default {
                #![allow(dead_code)]
                pub const EMPTY: [u8; 2] = { const fn zero() -> u8 { 0 } [zero(), 1] };
                type Item = T;
                some_macro! { fn not_a_method() {} }
                other::some_macro!(fn neither);
                pub(crate) const unsafe extern "C" fn raw<'b>(&'b mut self, x: &'b [T; N]) -> u8 where T: Copy { half written ( ) }
                #[inline] async fn r#match(mut self: Box<Self>, (a, b): (u8, u8), _: impl Fn(u8) -> u8) {}
                fn plain(&self) {}
            }
        };
        let block: ImplBlock = syn::parse2(source.clone()).unwrap();
        assert_eq!(block.to_token_stream().to_string(), source.to_string());
        let kinds: String = block
            .items
            .iter()
            .map(|item| {
                if matches!(item, BlockItem::Method(_)) {
                    'm'
                } else {
                    'o'
                }
            })
            .collect();
        assert_eq!(kinds, "oooommm");
    }

    #[test]
    fn a_trait_is_told() {
        for source in [
            quote!(impl Clone for A {}),
            quote!(
                impl<T> !Send for A<T> {}
            ),
        ] {
            let block: ImplBlock = syn::parse2(source.clone()).unwrap();
            assert!(block.of_trait.is_some());
            assert_eq!(block.to_token_stream().to_string(), source.to_string());
        }
    }
}
