//! On-disk formats of Proxmox Backup Server: bytes in, types out, and back
