//! What is loaded: the program and its libraries, and where each says how its functions are unwound.
#![expect(
    unsafe_code,
    reason = "the loader tells what is loaded by a callback with pointers"
)]

use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::path::Path;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian};

/// Size of an address in unwind data.
pub(super) const ADDRESS_BYTES: u8 = 8;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// How the index writes its length and its addresses: as 32 bits, relative to its beginning. All linkers do, and a search in
/// another, with a length of 64 bits, could overflow.
const INDEX_ENCODINGS: [u8; 2] = [
    gimli::DW_EH_PE_udata4.0,
    gimli::DW_EH_PE_datarel.0 | gimli::DW_EH_PE_sdata4.0,
];

/// A loaded object.
pub(super) struct Object {
    /// Its file's name, without the folder.
    pub(super) name: String,
    code: Vec<Range<u64>>,
    unwind: Option<Unwind>,
}

/// Unwind data, and where it lies.
struct Unwind {
    bases: BaseAddresses,
    index: Cow<'static, [u8]>,
    entries: Cow<'static, [u8]>,
}

impl Object {
    /// Whether code at `address` is this object's.
    pub(super) fn holds(&self, address: u64) -> bool {
        self.code.iter().any(|code| code.contains(&address))
    }

    /// The index by address, the entries, and the addresses both are relative to.
    pub(super) fn unwind(&self) -> Option<(EhFrameHdr<Bytes<'_>>, EhFrame<Bytes<'_>>, &BaseAddresses)> {
        let unwind = self.unwind.as_ref()?;
        if unwind.index.get(2..4) != Some(&INDEX_ENCODINGS) {
            return None;
        }
        let index = EhFrameHdr::new(&unwind.index, LittleEndian);
        let mut entries = EhFrame::new(&unwind.entries, LittleEndian);
        entries.set_address_size(ADDRESS_BYTES);
        Some((index, entries, &unwind.bases))
    }
}

/// All objects, as of one moment.
#[derive(Default)]
pub(super) struct Objects {
    list: Vec<Object>,
    changes: u64,
}

impl Objects {
    /// Those that are loaded now.
    pub(super) fn loaded() -> Self {
        let mut all = Self::default();
        // SAFETY: `add` gets the pointer to `all` that it expects, which lives until the call is over.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut all).cast()) };
        all
    }

    /// Whether an object came or went since.
    pub(super) fn changed(&self) -> bool {
        let mut changes = self.changes;
        // SAFETY: `count` gets the pointer to a number that it expects, which lives until the call is over.
        unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut changes).cast()) };
        changes != self.changes
    }

    /// The object that code at `address` belongs to.
    pub(super) fn at(&self, address: u64) -> Option<&Object> {
        self.list.iter().find(|object| object.holds(address))
    }
}

fn changes(info: &libc::dl_phdr_info) -> u64 {
    info.dlpi_adds.wrapping_add(info.dlpi_subs)
}

/// Looks at the first object only: each tells the same numbers.
unsafe extern "C" fn count(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader's pointer is good during the call, the other is what `changed` gave.
    if let (Some(info), Some(found)) = (unsafe { info.as_ref() }, unsafe { found.cast::<u64>().as_mut() }) {
        *found = changes(info);
    }
    1
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _size: usize, all: *mut c_void) -> c_int {
    // SAFETY: the loader's pointer is good during the call, the other is what `loaded` gave.
    if let (Some(info), Some(all)) = (unsafe { info.as_ref() }, unsafe {
        all.cast::<Objects>().as_mut()
    }) {
        all.changes = changes(info);
        // The program itself is the first.
        let stays = all.list.is_empty();
        // SAFETY: the loader holds its lock during this call: what `info` describes is there.
        all.list.push(unsafe { object(info, stays) });
    }
    0
}

/// # Safety
/// What `info` describes is loaded and stays so during the call; if it `stays`, until the process ends.
unsafe fn object(info: &libc::dl_phdr_info, stays: bool) -> Object {
    let headers = if info.dlpi_phdr.is_null() {
        &[][..]
    } else {
        // SAFETY: the loader tells where the headers are and how many.
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
    };
    let place = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    };
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    // SAFETY: the loader's names end with a zero.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) });
    let copy = |from: u64| -> Option<Cow<'static, [u8]>> {
        let segment =
            loaded().find(|header| header.p_flags & libc::PF_R != 0 && place(header).contains(&from))?;
        let length = usize::try_from(place(segment).end - from).ok()?;
        let start = std::ptr::with_exposed_provenance::<u8>(usize::try_from(from).ok()?);
        // SAFETY: the loader mapped the whole segment for reading, and it is there during this call.
        let bytes: &'static [u8] = unsafe { std::slice::from_raw_parts(start, length) };
        // A library may go, and what can be written may change.
        if stays && segment.p_flags & libc::PF_W == 0 {
            return Some(Cow::Borrowed(bytes));
        }
        Some(Cow::Owned(bytes.to_vec()))
    };
    let index = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)
        .map(|header| place(header).start);
    Object {
        name: file_name(name.map(CStr::to_bytes).unwrap_or_default()),
        code: loaded()
            .filter(|header| header.p_flags & libc::PF_X != 0)
            .map(place)
            .collect(),
        unwind: index.and_then(|address| unwind(address, copy)),
    }
}

/// The index lies at `address`, and tells where the entries lie.
fn unwind(address: u64, copy: impl Fn(u64) -> Option<Cow<'static, [u8]>>) -> Option<Unwind> {
    let index = copy(address)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(address);
    let parsed = EhFrameHdr::new(&index, LittleEndian)
        .parse(&bases, ADDRESS_BYTES)
        .ok()?;
    let entries = parsed.eh_frame_ptr().direct().ok()?;
    Some(Unwind {
        entries: copy(entries)?,
        bases: bases.set_eh_frame(entries),
        index,
    })
}

/// The program itself is given without a name.
fn file_name(path: &[u8]) -> String {
    let path = String::from_utf8_lossy(path);
    let program = || std::env::current_exe().unwrap_or_default();
    let path = if path.is_empty() {
        program()
    } else {
        path.as_ref().into()
    };
    let name = Path::file_name(&path).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
impl Objects {
    /// Where code lies.
    pub(super) fn code(&self) -> Vec<Range<u64>> {
        self.list.iter().flat_map(|object| object.code.clone()).collect()
    }

    /// Lets `change` write to copies of all unwind data.
    pub(super) fn damage(&mut self, mut change: impl FnMut(&mut [u8])) {
        for unwind in self.list.iter_mut().filter_map(|object| object.unwind.as_mut()) {
            change(unwind.index.to_mut());
            change(unwind.entries.to_mut());
        }
    }
}
