//! How the files of a state come to harm while nobody uses them: what the store says that it finds (see `docs/guarantees.md`), and
//! nothing else. LMDB has no checksums of pages: a page that looks like one and is not what was written is found by
//! nobody, and a page that does not look like one ends the process, unless all pages are looked at before.

use std::{
    fs, io,
    ops::{Bound, ControlFlow},
    path::{Path, PathBuf},
};

use kproc_store::Inspector;

use super::chance::Chance;

const DATA: &str = "data.mdb";
const SIDECAR: &str = "state.json";
const PAGE: usize = 4096;
/// The first two pages are headers.
const HEADERS: usize = 2;
/// Where pages say what they are.
const FLAGS: usize = 10;
/// Branches and leaves of B-trees.
const OF_TREES: [u16; 2] = [1, 2];

/// One way. What has a number decides by it which page, value or bit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harm {
    DataCutShort(u64),
    DataGone,
    SidecarGone,
    SidecarCutShort,
    /// One of both headers, or both, are rubbish.
    HeaderOverwritten(u64),
    /// A page is rubbish, and three processes have died over it.
    PageOverwritten(u64),
    /// A bit of a value is another one. Its checksum must be there, for nothing else finds that.
    ValueFlipped(u64),
}

impl Harm {
    pub(super) fn draw(chance: &mut Chance) -> Self {
        let number = chance.next();
        match chance.below(9) {
            0 => Self::DataCutShort(number),
            1 => Self::DataGone,
            2 => Self::SidecarGone,
            3 => Self::SidecarCutShort,
            4 => Self::HeaderOverwritten(number),
            5 | 6 => Self::PageOverwritten(number),
            _ => Self::ValueFlipped(number),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::DataCutShort(_) => "data cut short",
            Self::DataGone => "data gone",
            Self::SidecarGone => "sidecar gone",
            Self::SidecarCutShort => "sidecar cut short",
            Self::HeaderOverwritten(_) => "header overwritten",
            Self::PageOverwritten(_) => "page overwritten",
            Self::ValueFlipped(_) => "value flipped",
        }
    }

    /// Does it to an environment, which its machine `trusts` or not. Whether there was anything to be harmed.
    pub(super) fn befall(self, environment: &Path, trusts: bool) -> bool {
        let (data, sidecar) = (environment.join(DATA), environment.join(SIDECAR));
        let chance = |number| Chance::of(number, 0);
        let done = match self {
            Self::DataCutShort(number) => cut_short(&data, chance(number).below(1000)),
            Self::DataGone => fs::remove_file(data),
            Self::SidecarGone => fs::remove_file(sidecar),
            Self::SidecarCutShort => cut_short(&sidecar, 500),
            Self::HeaderOverwritten(number) => overwrite_header(&data, number % 3),
            Self::PageOverwritten(number) if trusts => overwrite_page(environment, &mut chance(number)),
            Self::ValueFlipped(number) if trusts => flip_value(environment, &mut chance(number)),
            // Only the store knows how to look into what is damaged already.
            Self::PageOverwritten(_) | Self::ValueFlipped(_) => return false,
        };
        done.is_ok()
    }
}

/// One more than so many processes that have died over it, and all pages are looked at before it is opened.
const SUSPICIOUS: u64 = 2;

/// Whether all pages will be looked at before it is opened, for processes have died over it.
pub(super) fn is_doubtful(sidecar: &str) -> bool {
    let told = serde_json::from_str::<serde_json::Value>(sidecar).unwrap_or_default();
    told["clean"] == false && told["deaths"].as_u64() >= Some(SUSPICIOUS)
}

/// Leaves so many thousandths.
fn cut_short(file: &Path, left: u64) -> io::Result<()> {
    let file = fs::OpenOptions::new().write(true).open(file)?;
    file.set_len(file.metadata()?.len() * left / 1000)
}

/// Half of what was written and not synced is lost: every other page from the third on. The headers look good.
pub(super) fn lose_half(environment: &Path) {
    let data = environment.join(DATA);
    // It may never have been made.
    if let Ok(mut bytes) = fs::read(&data) {
        bytes.chunks_mut(PAGE).skip(HEADERS).step_by(2).for_each(fill);
        let _ = fs::write(data, bytes);
    }
}

fn fill(page: &mut [u8]) {
    page.fill(0x5a);
}

/// The first, the second, or both.
fn overwrite_header(data: &Path, which: u64) -> io::Result<()> {
    let mut bytes = fs::read(data)?;
    let pages = bytes.chunks_mut(PAGE).take(HEADERS).enumerate();
    pages
        .filter(|(number, _)| which == 2 || which == *number as u64)
        .for_each(|(_, page)| fill(page));
    fs::write(data, bytes)
}

/// A page of a tree. Processes that came to it have ended.
fn overwrite_page(environment: &Path, chance: &mut Chance) -> io::Result<()> {
    let data = environment.join(DATA);
    let mut bytes = fs::read(&data)?;
    let flags = |page: &[u8]| u16::from_le_bytes([page[FLAGS], page[FLAGS + 1]]);
    let mut pages: Vec<&mut [u8]> = bytes
        .chunks_exact_mut(PAGE)
        .skip(HEADERS)
        .filter(|page| OF_TREES.contains(&flags(page)))
        .collect();
    let chosen = chance.below(pages.len().max(1) as u64) as usize;
    let page = pages.get_mut(chosen).ok_or(io::ErrorKind::NotFound)?;
    fill(page);
    fs::write(data, bytes)?;
    let path = environment.join(SIDECAR);
    let mut sidecar: serde_json::Value = serde_json::from_slice(&fs::read(&path)?)?;
    sidecar["clean"] = false.into();
    sidecar["deaths"] = SUSPICIOUS.into();
    fs::write(path, sidecar.to_string())
}

/// A bit of a value, or of its checksum. Every copy of it in the file, for old pages look like new ones.
fn flip_value(environment: &Path, chance: &mut Chance) -> io::Result<()> {
    let mut entries = Vec::new();
    let inspector = Inspector::open(environment).map_err(io::Error::other)?;
    for store in inspector.stores().map_err(io::Error::other)? {
        let mut each = |key: &[u8], value: &[u8]| {
            entries.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        // A value that is damaged already ends it.
        let _ = inspector.scan(&store.name, (Bound::Unbounded, Bound::Unbounded), &mut each);
    }
    drop(inspector);
    let chosen = chance.below(entries.len().max(1) as u64) as usize;
    let (key, value) = entries.get(chosen).ok_or(io::ErrorKind::NotFound)?;
    // As LMDB has it in a leaf: the length of the data, no flags, the length of the key, the key.
    let stored = CHECKSUM + value.len();
    let mut node = (stored as u32).to_le_bytes().to_vec();
    node.extend([0, 0]);
    node.extend((key.len() as u16).to_le_bytes());
    node.extend(key);
    let data = environment.join(DATA);
    let mut bytes = fs::read(&data)?;
    let places: Vec<usize> = (0..bytes.len().saturating_sub(node.len() + stored))
        .filter(|place| bytes[*place..].starts_with(&node))
        // Of what is no longer in use, the beginning may be left, and something else come after it.
        .filter(|place| bytes[*place + node.len() + CHECKSUM..].starts_with(value))
        .collect();
    let bit = chance.below(stored as u64 * 8) as usize;
    for place in &places {
        bytes[place + node.len() + bit / 8] ^= 1 << (bit % 8);
    }
    // Values without checksums are shorter, and long ones are elsewhere.
    if places.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    fs::write(data, bytes)
}

/// How long checksums are; they come before the values.
const CHECKSUM: usize = 4;

/// The directories of the environments in a state directory.
pub(super) fn environments(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut rest = vec![directory.to_owned()];
    while let Some(directory) = rest.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                rest.push(path);
            } else if path.ends_with(DATA) {
                found.push(directory.clone());
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{
        super::super::kit::{CHANGELOG, COUNTS, WORDS, World},
        *,
    };
    use crate::{
        Context, Policy, Processor, Record, Result, Table,
        engine::factory,
        processor::{Declare, Start, StoreOptions},
        runtime::sabotage::Sabotage,
        testing::exec::Executor,
    };

    /// Otherwise whatever is done to one key would be passed over from then on.
    #[test]
    fn a_record_that_meets_damage_is_not_passed_over_whatever_the_policy() {
        assert_eq!(counted_over_damage(None), 11);
    }

    /// So the test above would notice.
    #[test]
    #[should_panic(expected = "it hangs")]
    fn it_would_be_if_damage_were_ignored() {
        counted_over_damage(Some(Sabotage::DamageIgnored));
    }

    /// A handler may pass damage over by itself; what it has sent is not written, at least once either.
    #[test]
    fn nothing_that_follows_from_damage_is_sent() {
        let mut world = World::of_words(Executor::new(1));
        let start = |world: &mut World| {
            let mut settings = world.settings("a");
            settings.store.checksum = true;
            world.start_app(settings, vec![factory(Lenient::default)])
        };
        for number in 0..10 {
            world.write("words", 0, "k", number);
        }
        let instance = start(&mut world);
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));

        let all = environments(world.directory.path());
        let flip = |environment: &&PathBuf| Harm::ValueFlipped(7).befall(environment, true);
        assert_eq!(all.iter().filter(flip).count(), 1);
        world.write("words", 0, "k", 10);
        let instance = start(&mut world);
        assert!(world.wait(&instance).is_err());
        let instance = start(&mut world);
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        let counts = (0..4).flat_map(|partition| world.read("counts", partition));
        let counts: Vec<i64> = counts.filter_map(|(_, count)| count).collect();
        assert_eq!(counts, (1..=11).collect::<Vec<i64>>());
    }

    /// Counts, and begins anew where it cannot read.
    #[derive(Default)]
    struct Lenient(Table<String, i64>);

    impl Processor for Lenient {
        fn name() -> Cow<'static, str> {
            "count".into()
        }

        fn declare(&mut self, to: &mut dyn Declare) {
            to.input(0, &WORDS, Start::Earliest);
            to.output(&COUNTS);
            to.store("totals", StoreOptions::default(), &mut self.0);
        }

        async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
            let (Some(key), _) = record.decode(&WORDS)? else {
                return Ok(());
            };
            let count = self.0.get(key).ok().flatten().unwrap_or(0) + 1;
            self.0.put(key, &count)?;
            ctx.send(&COUNTS, key, &count)?;
            Ok(())
        }
    }

    /// Eleven records of one key are counted, and a bit of what ten have come to is flipped.
    fn counted_over_damage(planted: Option<Sabotage>) -> i64 {
        let mut world = World::of_words(Executor::new(1));
        let start = |world: &mut World| {
            let mut settings = world.settings("a");
            settings.sabotage = planted;
            settings.store.checksum = true;
            settings.task.policies.processing = Policy::Skip;
            world.start_with(settings, None)
        };
        for number in 0..10 {
            world.write("words", 0, "k", number);
        }
        let instance = start(&mut world);
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));

        let all = environments(world.directory.path());
        let flip = |environment: &&PathBuf| Harm::ValueFlipped(7).befall(environment, true);
        assert_eq!((all.len(), all.iter().filter(flip).count()), (4, 1));
        world.write("words", 0, "k", 10);
        let instance = start(&mut world);
        let error = world.wait(&instance).unwrap_err().to_string();
        assert!(
            error.contains("store `totals`, key 6b: the value does not match"),
            "{error}"
        );

        let instance = start(&mut world);
        world.drain(&instance);
        assert_eq!(world.stop(&instance), Ok(()));
        world.last_values(CHANGELOG, 4)["k"]
    }
}
