//! Reads values as `postcard` does, with two limits that it does not have: elements that take no bytes cannot be claimed
//! without end, and values cannot be nested until the stack is full.
//!
//! Everything here wraps what it is named after, and passes it on; only [`Limits`] says no.

use super::{FRAME_BYTES_MAX, said};
use postcard::de_flavors::{Flavor, Slice};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use std::{cell::Cell, fmt};

/// The bytes of a message. It does not say how many there are: with that, `postcard` would not pass on a claim that is larger.
pub(super) struct Message<'bytes>(Slice<'bytes>);

impl<'bytes> Message<'bytes> {
    pub(super) fn new(bytes: &'bytes [u8]) -> Self {
        Self(Slice::new(bytes))
    }
}

impl<'bytes> Flavor<'bytes> for Message<'bytes> {
    type Remainder = &'bytes [u8];
    type Source = &'bytes [u8];

    fn pop(&mut self) -> postcard::Result<u8> {
        self.0.pop()
    }

    fn try_take_n(&mut self, count: usize) -> postcard::Result<&'bytes [u8]> {
        self.0.try_take_n(count)
    }

    fn finalize(self) -> postcard::Result<&'bytes [u8]> {
        self.0.finalize()
    }
}

/// What a message may still have.
pub(super) struct Limits {
    elements: Cell<u64>,
    depth: Cell<u32>,
}

impl Limits {
    /// For a message of these bytes, in which an element that takes none counts as one, and these elements beside.
    pub(super) fn of(bytes: &[u8], beside: u64) -> Self {
        let elements = bytes.len() as u64 + u64::from(FRAME_BYTES_MAX);
        Self {
            elements: Cell::new(elements.saturating_add(beside)),
            depth: Cell::new(DEPTH_MAX),
        }
    }

    /// For what driver and workers say. Of its elements some take a byte here and a hundred in memory.
    pub(super) fn of_message() -> Self {
        Self {
            elements: Cell::new(MESSAGE_ELEMENTS_MAX),
            depth: Cell::new(DEPTH_MAX),
        }
    }

    pub(super) fn around<T>(&self, inner: T) -> Limited<'_, T> {
        let limits = self;
        Limited { inner, limits }
    }

    fn getting<V>(&self, visitor: V) -> Getting<'_, V> {
        Getting {
            visitor,
            limits: self,
            is_claimed: false,
        }
    }

    fn take<E: Error>(&self, elements: Option<usize>) -> Result<(), E> {
        let left = self.elements.get();
        let left = left.checked_sub(elements.unwrap_or(0) as u64);
        let left = left.ok_or_else(|| E::custom(said("more elements than a message may have")))?;
        self.elements.set(left);
        Ok(())
    }

    fn inside<R, E: Error>(&self, read: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        let left = self.depth.get();
        let deeper = left.checked_sub(1);
        let deeper = deeper.ok_or_else(|| E::custom(said("it is nested too deep")))?;
        self.depth.set(deeper);
        let outcome = read();
        self.depth.set(left);
        outcome
    }
}

/// A reader, a part of one, or what is to be read.
pub(super) struct Limited<'a, T> {
    inner: T,
    limits: &'a Limits,
}

/// Who gets what was read.
struct Getting<'a, V> {
    visitor: V,
    limits: &'a Limits,
    /// Whether the message says how many elements there are, and not the type.
    is_claimed: bool,
}

/// Those that call other readers.
macro_rules! nest {
    ($is_claimed:literal: $($name:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let mut getting = self.limits.getting(visitor);
            getting.is_claimed = $is_claimed;
            self.limits.inside(|| self.inner.$name($($argument,)* getting))
        }
    )*};
}

macro_rules! pass {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$name(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Limited<'_, D> {
    type Error = D::Error;

    nest! {
        false: deserialize_option() deserialize_newtype_struct(name: &'static str) deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    nest! { true: deserialize_seq() deserialize_map() }

    pass! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// What has no parts never comes here.
impl<'de, V: Visitor<'de>> Visitor<'de> for Getting<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(self.limits.around(inner))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(self.limits.around(inner))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        if self.is_claimed {
            self.limits.take(inner.size_hint())?;
        }
        self.visitor.visit_seq(self.limits.around(inner))
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        if self.is_claimed {
            self.limits.take(inner.size_hint())?;
        }
        self.visitor.visit_map(self.limits.around(inner))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(self.limits.around(inner))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Limited<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(self.limits.around(inner))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Limited<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        inner: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(self.limits.around(inner))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Limited<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        inner: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(self.limits.around(inner))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, inner: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(self.limits.around(inner))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'a, A: EnumAccess<'de>> EnumAccess<'de> for Limited<'a, A> {
    type Error = A::Error;
    type Variant = Limited<'a, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, self.limits.around(inner)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Limited<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, inner: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(self.limits.around(inner))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let getting = self.limits.getting(visitor);
        self.inner.tuple_variant(len, getting)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let getting = self.limits.getting(visitor);
        self.inner.struct_variant(fields, getting)
    }
}

/// Messages in a frame, chunks that a worker holds, broadcast values of a call: there are never nearly as many.
const MESSAGE_ELEMENTS_MAX: u64 = 1 << 16;
/// How deep values are nested, where each reader that calls another one counts.
const DEPTH_MAX: u32 = 512;

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, Limits};
    use crate::wire::{decode, decode_items, encode, read_within};
    use serde::{Deserialize, Serialize};
    use std::{
        cell::Cell,
        collections::{BTreeMap, HashSet},
        fmt,
    };

    /// Takes no bytes, and room.
    #[derive(Debug, Serialize, Deserialize)]
    struct Empty {
        #[serde(skip)]
        #[expect(dead_code, reason = "it only takes room")]
        room: [u64; 4],
    }

    #[derive(Debug, Serialize, Deserialize)]
    enum Endless {
        Named { of: Vec<Empty> },
        Plain(u8, HashSet<()>),
    }

    /// What is wrong with these bytes.
    fn wrong<T: for<'a> Deserialize<'a> + fmt::Debug>(bytes: &[u8]) -> String {
        decode::<T>(bytes).unwrap_err()
    }

    #[test]
    fn elements_that_take_no_bytes_are_counted_before_they_are_made() {
        let of = |head: &[u8], len: u64| [head, &encode(&len).unwrap()].concat();
        let endless = "more elements than a message may have";
        for len in [u64::MAX, u64::MAX / 2, 1 << 40, 1 << 29] {
            assert_eq!(wrong::<Vec<()>>(&of(&[], len)), endless);
            assert_eq!(wrong::<BTreeMap<(), ()>>(&of(&[], len)), endless);
            assert_eq!(wrong::<Vec<Vec<Empty>>>(&of(&[3, 0], len)), endless);
            assert_eq!(wrong::<Option<(u8, Vec<()>)>>(&of(&[1, 7], len)), endless);
            assert_eq!(wrong::<Endless>(&of(&[0], len)), endless);
            assert_eq!(wrong::<Endless>(&of(&[1, 7], len)), endless);
            assert!(decode_items::<()>(&of(&[], len), 3).is_err());
        }
        // Many small claims are as one large one.
        let (elements, depth) = (Cell::new(80), Cell::new(DEPTH_MAX));
        let limits = Limits { elements, depth };
        let many = read_within::<[Vec<()>; 9]>(&[9; 9], &limits);
        assert_eq!(many.unwrap_err(), endless);
        let honest = (vec![(); 1_000_000], vec![7_u8; 100_000]);
        assert_eq!(decode(&encode(&honest).unwrap()), Ok(honest));
    }

    /// Nested as deep as its message says.
    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    enum Tree {
        Leaf,
        Node(Box<Self>),
        Named { next: Box<Self> },
        List(Vec<Self>),
    }

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Chain(Option<Box<Self>>);

    #[test]
    fn values_that_are_nested_too_deep_are_refused_before_the_stack_is_full() {
        let deep = "it is nested too deep";
        for head in [&[1][..], &[2], &[3, 1]] {
            assert_eq!(wrong::<Tree>(&head.repeat(1_000_000)), deep);
        }
        assert_eq!(wrong::<Chain>(&[1].repeat(1_000_000)), deep);
        let honest = (0..100).fold(Chain(None), |chain, _| Chain(Some(Box::new(chain))));
        assert_eq!(decode(&encode(&honest).unwrap()), Ok(honest));
    }
}
