//! The few types of kproc that the macro knows by their names, for the compiler would tell badly what is wrong with them.
//!
//! What may be here: whether a type is written as one of them. A user's own type may be called so, too: so the generic
//! arguments must be those of ours, and where that does not tell them apart, what is generated asks the compiler.

use syn::{GenericArgument, PathArguments, Type, TypeReference, visit::Visit};

/// How a context is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Owned,
    Shared,
    Mutable,
}

/// `&mut Context<'_>`, `&Context<'_>` or `Context<'_>`, by any path.
pub(crate) fn context(ty: &Type) -> Option<Form> {
    match ty {
        Type::Group(group) => context(&group.elem),
        Type::Reference(reference) => {
            let shared = reference.mutability.is_none();
            context(&reference.elem).map(|_| if shared { Form::Shared } else { Form::Mutable })
        }
        _ => is_context(ty).then_some(Form::Owned),
    }
}

/// The `&mut Context<'_>` somewhere in the type of a field: no processor can have one.
pub(crate) fn kept_context(ty: &Type) -> Option<&TypeReference> {
    struct Search<'a>(Option<&'a TypeReference>);
    impl<'a> Visit<'a> for Search<'a> {
        fn visit_type_reference(&mut self, found: &'a TypeReference) {
            if found.mutability.is_some() && is_context(&found.elem) {
                self.0.get_or_insert(found);
            }
            syn::visit::visit_type_reference(self, found);
        }
    }
    let mut search = Search(None);
    search.visit_type(ty);
    search.0
}

/// What is written `Context<'static>` somewhere in the type of a field, and may be ours.
pub(crate) fn perhaps_context(ty: &Type) -> Option<&Type> {
    struct Search<'a>(Option<&'a Type>);
    impl<'a> Visit<'a> for Search<'a> {
        fn visit_type(&mut self, found: &'a Type) {
            let arguments = arguments(found, &["Context"]).unwrap_or_default();
            if matches!(arguments.as_slice(), [GenericArgument::Lifetime(lifetime)] if lifetime.ident == "static")
            {
                self.0.get_or_insert(found);
            }
            syn::visit::visit_type(self, found);
        }
    }
    let mut search = Search(None);
    search.visit_type(ty);
    search.0
}

/// `Context` or `Context<'_>`: one with a type in it is another.
fn is_context(ty: &Type) -> bool {
    let Some(arguments) = arguments(ty, &["Context"]) else {
        return false;
    };
    matches!(arguments.as_slice(), [] | [GenericArgument::Lifetime(_)])
}

/// The value of a table that is an `Option` itself.
pub(crate) fn optional_value(ty: &Type) -> Option<&Type> {
    let [GenericArgument::Type(_), GenericArgument::Type(value)] = arguments(ty, &["Table"])?[..] else {
        return None;
    };
    match arguments(value, &["Option"])?[..] {
        [GenericArgument::Type(_)] => Some(value),
        _ => None,
    }
}

/// The `T` of a `Json<T>` or `Postcard<T>`.
pub(crate) fn wrapped(ty: &Type) -> Option<&Type> {
    match arguments(ty, &["Json", "Postcard"])?[..] {
        [GenericArgument::Type(inner)] => Some(inner),
        _ => None,
    }
}

/// The generic arguments of a type that has one of these names, by any path.
fn arguments<'a>(ty: &'a Type, names: &[&str]) -> Option<Vec<&'a GenericArgument>> {
    let last = match ty {
        // What a macro has put together.
        Type::Group(group) => return arguments(&group.elem, names),
        Type::Path(path) if path.qself.is_none() => path.path.segments.last()?,
        _ => return None,
    };
    if !names.iter().any(|name| last.ident == name) {
        return None;
    }
    match &last.arguments {
        PathArguments::None => Some(Vec::new()),
        PathArguments::AngleBracketed(arguments) => Some(arguments.args.iter().collect()),
        PathArguments::Parenthesized(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn a_context_is_told_from_a_type_with_its_name() {
        for (ty, form) in [
            (parse_quote!(&mut Context<'_>), Some(Form::Mutable)),
            (parse_quote!(&mut Context), Some(Form::Mutable)),
            (parse_quote!(&'c kproc::Context<'c>), Some(Form::Shared)),
            (parse_quote!(Context<'static>), Some(Form::Owned)),
            (parse_quote!(&Context<u8>), None),
            (parse_quote!(&mut Context<'_, u8>), None),
            (parse_quote!(&mut Contexts), None),
            (parse_quote!(&mut <A as B>::Context), None),
        ] {
            let ty: Type = ty;
            assert_eq!(context(&ty), form, "{}", quote::quote!(#ty));
        }
    }

    #[test]
    fn a_context_is_found_wherever_it_is_kept() {
        let kept = |ty: Type| kept_context(&ty).is_some();
        assert!(kept(parse_quote!(&'static mut Context<'static>)));
        assert!(kept(parse_quote!(
            Option<Box<&'static mut kproc::Context<'static>>>
        )));
        assert!(kept(parse_quote!(Vec<(u8, &mut Context)>)));
        assert!(!kept(parse_quote!(Context<'static>)));
        assert!(!kept(parse_quote!(&'static Context)));
        assert!(!kept(parse_quote!(&'static mut Context<u8>)));
    }

    #[test]
    fn what_may_be_a_context_is_found() {
        let perhaps = |ty: Type| perhaps_context(&ty).map(|found| quote::quote!(#found).to_string());
        let found = perhaps(parse_quote!(Option<Box<kproc::Context<'static>>>));
        assert_eq!(found.as_deref(), Some("kproc :: Context < 'static >"));
        assert_eq!(perhaps(parse_quote!(Context)), None);
        assert_eq!(perhaps(parse_quote!(Context<'a>)), None);
        assert_eq!(perhaps(parse_quote!(Option<Context<u8>>)), None);
    }

    #[test]
    fn a_table_and_an_option_have_their_arguments() {
        let optional = |ty: Type| optional_value(&ty).is_some();
        assert!(optional(parse_quote!(Table<String, Option<i64>>)));
        assert!(optional(
            parse_quote!(kproc::Table<String, std::option::Option<i64>>)
        ));
        assert!(!optional(parse_quote!(Table<String, Option>)));
        assert!(!optional(parse_quote!(Table<String, Option<'static>>)));
        assert!(!optional(parse_quote!(Table<String, Option<i64, u8>>)));
        assert!(!optional(parse_quote!(Table<Option<i64>>)));
        assert!(!optional(parse_quote!(Table<Option<i64>, u8>)));
    }

    #[test]
    fn what_is_wrapped_is_found() {
        let inner = |ty: Type| wrapped(&ty).map(|inner| quote::quote!(#inner).to_string());
        assert_eq!(inner(parse_quote!(Json<Order>)).as_deref(), Some("Order"));
        assert_eq!(inner(parse_quote!(kproc::Postcard<u8>)).as_deref(), Some("u8"));
        assert_eq!(inner(parse_quote!(Json)), None);
        assert_eq!(inner(parse_quote!(Json<'_, u8>)), None);
        assert_eq!(inner(parse_quote!(Jason<u8>)), None);
    }
}
