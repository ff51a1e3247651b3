//! What a processor is, once its attributes are understood.
//!
//! Building the model takes the helper attributes from the user's item and leaves the rest of it as it was.
//! Whatever is wrong is left out of the model and reported; the rest is expanded all the same, so that the
//! compiler can check it in the same build.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Data, DeriveInput, Expr, Fields, Generics, LitStr, Path, ReturnType, Signature, Type,
    ext::IdentExt, parse_quote,
};

use crate::{
    attributes::{self, Found, Helper, Place},
    check,
    errors::Errors,
    known, lints,
    parse::{
        arguments::{self, ImplOptions, StateOptions, StructOptions},
        item::{BlockItem, ImplBlock},
    },
    sent,
};

/// A processor's struct.
pub(crate) struct Declared {
    pub(crate) krate: Option<Path>,
    /// `#[cfg]`s of the struct.
    pub(crate) conditions: Vec<Attribute>,
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) name: Option<LitStr>,
    pub(crate) fields: Vec<Field>,
}

/// A field of a processor.
pub(crate) struct Field {
    pub(crate) conditions: Vec<Attribute>,
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// How it is stored, if it is marked `#[state]`.
    pub(crate) store: Option<StoreField>,
    /// Whether something is wrong with it that was told already.
    pub(crate) doubtful: bool,
    /// Whether it would keep a context.
    pub(crate) keeps_context: bool,
}

/// What `#[state]` says of a field.
pub(crate) struct StoreField {
    pub(crate) name: String,
    /// Where the name comes from.
    pub(crate) named_at: Span,
    pub(crate) changelog: bool,
}

/// A processor's impl block.
pub(crate) struct Handled {
    pub(crate) krate: Option<Path>,
    /// `#[cfg]`s of the impl block.
    pub(crate) conditions: Vec<Attribute>,
    pub(crate) generics: Generics,
    pub(crate) self_ty: Type,
    pub(crate) sends: Vec<Expr>,
    pub(crate) handlers: Vec<Handler>,
}

/// A method that kproc calls.
pub(crate) struct Handler {
    pub(crate) trigger: Trigger,
    pub(crate) conditions: Vec<Attribute>,
    pub(crate) ident: Ident,
    pub(crate) is_async: bool,
    /// The types of the arguments after `self`.
    pub(crate) arguments: Vec<Type>,
    pub(crate) output: ReturnType,
}

/// What a handler is called for.
pub(crate) enum Trigger {
    Message { topic: Expr, start: Start },
    Every { millis: u64, clock: Clock },
    Start,
    Stop,
    Schedule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Earliest,
    Latest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Wall,
    Stream,
}

impl Trigger {
    pub(crate) fn helper(&self) -> Helper {
        match self {
            Self::Message { .. } => Helper::OnMessage,
            Self::Every { .. } => Helper::Every,
            Self::Start => Helper::OnStart,
            Self::Stop => Helper::OnStop,
            Self::Schedule => Helper::OnSchedule,
        }
    }
}

impl Declared {
    /// The model of a struct marked `#[processor(options)]`.
    pub(crate) fn of(options: &TokenStream, item: &mut DeriveInput, errors: &mut Errors) -> Self {
        let StructOptions { krate, name } = StructOptions::read(options, errors);
        on_the_item(&mut item.attrs, &item.ident, krate.as_ref(), errors);
        let fields = match &mut item.data {
            Data::Struct(data) => {
                if !matches!(data.fields, Fields::Named(_)) {
                    errors.on(&item.ident, check::unnamed_fields(&item.ident, &data.fields));
                }
                fields(&mut data.fields, krate.as_ref(), errors)
            }
            Data::Enum(data) => {
                errors.on(data.enum_token, check::not_a_struct("an enum"));
                for variant in &mut data.variants {
                    attributes::take(&mut variant.attrs, krate.as_ref());
                    strip(&mut variant.fields, krate.as_ref());
                }
                Vec::new()
            }
            Data::Union(data) => {
                errors.on(data.union_token, check::not_a_struct("a union"));
                for field in &mut data.fields.named {
                    attributes::take(&mut field.attrs, krate.as_ref());
                }
                Vec::new()
            }
        };
        let declared = Self {
            krate,
            conditions: attributes::conditions(&item.attrs),
            ident: item.ident.clone(),
            generics: item.generics.clone(),
            name,
            fields,
        };
        check::declared(&declared, errors);
        declared
    }
}

/// Takes our attributes from the item that is marked `#[processor]`: another one is too many, and all others mean
/// nothing there.
fn on_the_item(attrs: &mut Vec<Attribute>, name: impl ToTokens, krate: Option<&Path>, errors: &mut Errors) {
    for found in attributes::take(attrs, krate) {
        match found.helper {
            Helper::Processor => errors.at(
                found.span(),
                format_args!(
                    "`{}` is marked `#[processor]` already: remove this one",
                    name.to_token_stream()
                ),
            ),
            helper => errors.at(found.span(), helper.misplaced(Place::Item)),
        }
    }
}

/// Takes our attributes from where they mean nothing, and says so.
fn misplaced(attrs: &mut Vec<Attribute>, krate: Option<&Path>, errors: &mut Errors) {
    for found in attributes::take(attrs, krate) {
        errors.at(found.span(), found.helper.misplaced(Place::Item));
    }
}

/// Takes our attributes from fields of an item that was refused as a whole.
fn strip(fields: &mut Fields, krate: Option<&Path>) {
    for field in fields {
        attributes::take(&mut field.attrs, krate);
    }
}

/// The fields of a struct, without our attributes. None, if they have no names.
fn fields(fields: &mut Fields, krate: Option<&Path>, errors: &mut Errors) -> Vec<Field> {
    let mut named = Vec::new();
    for field in fields {
        let marks = attributes::take(&mut field.attrs, krate);
        // A field `_` has no name either, which the compiler says.
        let Some(ident) = field.ident.clone().filter(|ident| ident != "_") else {
            continue;
        };
        let mut store = store(&marks, &ident, errors);
        if store.is_some()
            && let Some(value) = known::optional_value(&field.ty)
        {
            errors.on(value, "a table has a value for a key, or it has none: write the type without `Option`; `get` gives an `Option`, and `delete` takes the value away");
            store = None;
        }
        let keeps_context = known::kept_context(&field.ty).is_some();
        let doubtful =
            keeps_context || !marks.is_empty() || attributes::perhaps_meant(&field.attrs, Place::Field);
        let mut conditions = attributes::conditions(&field.attrs);
        conditions.extend(marks.into_iter().filter_map(|mark| mark.condition));
        let ty = field.ty.clone();
        if let Some(context) = known::kept_context(&ty) {
            // Within the type, so that the compiler says nothing of what the handlers do with the field.
            let error = syn::Error::new_spanned(context, check::KEPT_CONTEXT).to_compile_error();
            let inner = if context.lifetime.is_some() {
                &ty
            } else {
                &parse_quote!(())
            };
            field.ty = Type::Verbatim(quote!([#inner; #error]));
        }
        named.push(Field {
            conditions,
            ident,
            ty,
            store,
            doubtful,
            keeps_context,
        });
    }
    named
}

/// What the helper attributes of a field say.
fn store(marks: &[Found], ident: &Ident, errors: &mut Errors) -> Option<StoreField> {
    let mut store = None;
    for mark in marks {
        if mark.helper != Helper::State {
            errors.at(mark.span(), mark.helper.misplaced(Place::Field));
            continue;
        }
        if store.is_some() {
            errors.at(
                mark.span(),
                format_args!("`{ident}` is marked `#[state]` already: write one mark, with all options"),
            );
            continue;
        }
        let StateOptions { name, changelog } = StateOptions::read(&mark.meta, errors);
        let (name, named_at) = match name {
            Some(name) => (name.value(), name.span()),
            None => (ident.unraw().to_string(), ident.span()),
        };
        store = Some(StoreField {
            name,
            named_at,
            changelog,
        });
    }
    store
}

impl Handled {
    /// The model of an impl block marked `#[processor(options)]`.
    pub(crate) fn of(options: &TokenStream, block: &mut ImplBlock, errors: &mut Errors) -> Self {
        let ImplOptions { krate, sends } = ImplOptions::read(options, errors);
        on_the_item(&mut block.attrs, &block.self_ty, krate.as_ref(), errors);
        let mut handlers = Vec::new();
        // Methods with a mark of ours: they look unused if their mark is refused.
        let mut marked = Vec::new();
        let mut wants_messages = false;
        for (number, item) in block.items.iter_mut().enumerate() {
            match item {
                BlockItem::Other { attrs, .. } => misplaced(attrs, krate.as_ref(), errors),
                BlockItem::Unreadable { attrs, error, .. } => {
                    wants_messages = true;
                    // One that is marked must not be passed over in silence.
                    if !attributes::take(attrs, krate.as_ref()).is_empty()
                        && let Some(error) = error.take()
                    {
                        errors.add(error);
                    }
                }
                BlockItem::Method(method) => {
                    let marks = attributes::take(&mut method.attrs, krate.as_ref());
                    wants_messages |= attributes::perhaps_meant(&method.attrs, Place::Method);
                    if marks.is_empty() {
                        continue;
                    }
                    marked.push(number);
                    wants_messages |= marks
                        .iter()
                        .any(|mark| matches!(mark.helper, Helper::OnMessage | Helper::Processor));
                    handlers.extend(handler(&marks, &method.attrs, &method.sig, errors));
                }
            }
        }
        let handled = Self {
            krate,
            conditions: attributes::conditions(&block.attrs),
            generics: block.generics.clone(),
            self_ty: block.self_ty.clone(),
            sends,
            handlers,
        };
        check::handled(&handled, wants_messages, errors);
        for number in marked {
            if let BlockItem::Method(method) = &mut block.items[number] {
                let checked = sent::context(&method.sig).and_then(|ctx| sent::checked(&method.body, ctx));
                if let Some(body) = checked {
                    method.body = body;
                }
                method.attrs.push(lints::allowed(&method.sig, &method.body));
            }
        }
        handled
    }
}

/// What the helper attributes of a method say.
fn handler(marks: &[Found], attrs: &[Attribute], sig: &Signature, errors: &mut Errors) -> Option<Handler> {
    let mut handler = None;
    let mut first: Option<Helper> = None;
    for mark in marks {
        let span = mark.span();
        if mark.helper.place() != Place::Method {
            errors.at(span, mark.helper.misplaced(Place::Method));
            continue;
        }
        if let Some(first) = first {
            errors.at(
                span,
                format_args!(
                    "`{0}` is marked `#[{1}]` already, and a method has one mark: move this one to another method, which calls `{0}`",
                    sig.ident,
                    first.name()
                ),
            );
            continue;
        }
        first = Some(mark.helper);
        let trigger = trigger(mark, errors);
        let fits = check::signature(mark.helper, sig, errors);
        let (Some(trigger), true) = (trigger, fits) else {
            continue;
        };
        let mut conditions = attributes::conditions(attrs);
        conditions.extend(mark.condition.clone());
        handler = Some(Handler {
            trigger,
            conditions,
            ident: sig.ident.clone(),
            is_async: sig.asyncness.is_some(),
            arguments: check::arguments(sig)
                .map(|argument| (*argument.ty).clone())
                .collect(),
            output: sig.output.clone(),
        });
    }
    handler
}

fn trigger(mark: &Found, errors: &mut Errors) -> Option<Trigger> {
    let plain = |trigger, errors: &mut Errors| {
        arguments::none(&mark.meta, mark.helper, errors);
        Some(trigger)
    };
    match mark.helper {
        Helper::OnMessage => {
            arguments::on_message(&mark.meta, errors).map(|(topic, start)| Trigger::Message { topic, start })
        }
        Helper::Every => {
            arguments::every(&mark.meta, errors).map(|(millis, clock)| Trigger::Every { millis, clock })
        }
        Helper::OnStart => plain(Trigger::Start, errors),
        Helper::OnStop => plain(Trigger::Stop, errors),
        Helper::OnSchedule => plain(Trigger::Schedule, errors),
        Helper::Processor | Helper::State => None,
    }
}
