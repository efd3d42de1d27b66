//! What an unwinder needs of a file with code: the sections that say how each function is left, and where they were
//! to lie in memory.

use framehop::{ExplicitModuleSectionInfo, Module};
use manyhands_wire::Mapping;
use object::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef, SegmentFlags, elf::PF_X};
use std::fs::{self, File};
use std::io::BufReader;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// What is kept of a file.
#[derive(Debug)]
pub(super) struct Elf {
    /// Of each segment with code its place in the file, and its address.
    segments: Vec<(Range<u64>, u64)>,
    eh_frame: Option<Section>,
    eh_frame_hdr: Option<Section>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
}

#[derive(Debug)]
struct Section {
    addresses: Range<u64>,
    bytes: Arc<[u8]>,
}

impl Elf {
    /// Reads a file; `None` if it is no such file.
    pub(super) fn read(file: &File) -> Option<Self> {
        Self::parse(&ReadCache::new(BufReader::new(file)))
    }

    /// Reads the code that the system puts into each process, from this one: it is the same in all.
    pub(super) fn of_system() -> Option<Self> {
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
        let (start, rest) = line.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        let (start, end) = (number(start)?, number(rest.split(' ').next()?)?);
        let mut bytes = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
        let memory = File::open("/proc/self/mem").ok()?;
        memory.read_exact_at(&mut bytes, start).ok()?;
        Self::parse(&*bytes)
    }

    fn parse<'data>(data: impl ReadRef<'data>) -> Option<Self> {
        let file = object::File::parse(data).ok()?;
        let segments = file.segments().filter_map(|segment| {
            let SegmentFlags::Elf { p_flags } = segment.flags() else {
                return None;
            };
            let (offset, size) = segment.file_range();
            (p_flags & PF_X != 0).then(|| (offset..offset.saturating_add(size), segment.address()))
        });
        let addresses = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address().saturating_add(section.size()))
        };
        let section = |name: &str| {
            let bytes = file.section_by_name(name)?.uncompressed_data().ok()?;
            Some(Section {
                addresses: addresses(name)?,
                bytes: bytes.into(),
            })
        };
        Some(Self {
            segments: segments.collect(),
            eh_frame: section(".eh_frame"),
            eh_frame_hdr: section(".eh_frame_hdr"),
            text: addresses(".text"),
            got: addresses(".got"),
        })
    }

    /// The file as it is mapped there; `None` if it has no code in that place.
    pub(super) fn module(&self, mapping: &Mapping) -> Option<Module<Arc<[u8]>>> {
        let offset = mapping.offset.0;
        // A segment is mapped from the beginning of the page on in which it begins.
        let holds =
            |place: &Range<u64>| place.start - place.start % PAGE <= offset && offset < place.end;
        let (place, address) = self.segments.iter().find(|(place, _)| holds(place))?;
        let shift = mapping
            .start
            .0
            .wrapping_sub(offset)
            .wrapping_add(place.start)
            .wrapping_sub(*address);
        let addresses =
            |section: &Option<Section>| section.as_ref().map(|found| found.addresses.clone());
        let bytes =
            |section: &Option<Section>| section.as_ref().map(|found| Arc::clone(&found.bytes));
        Some(Module::new(
            mapping.path.clone(),
            mapping.start.0..mapping.end.0,
            shift,
            ExplicitModuleSectionInfo {
                text_svma: self.text.clone(),
                got_svma: self.got.clone(),
                eh_frame_svma: addresses(&self.eh_frame),
                eh_frame: bytes(&self.eh_frame),
                eh_frame_hdr_svma: addresses(&self.eh_frame_hdr),
                eh_frame_hdr: bytes(&self.eh_frame_hdr),
                ..ExplicitModuleSectionInfo::default()
            },
        ))
    }
}

/// The smallest that there are.
const PAGE: u64 = 4096;
