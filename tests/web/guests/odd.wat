;; A guest for the specs of WASI, with unusual behaviours. The first letter of its first argument selects the behaviour.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  ;; The addresses in memory: 0 the count and the size of strings; 16 two buffers; 32 the number of transferred bytes;
  ;; 64 pointers to strings; 512 a frame; 1024 strings; 65536 the bytes that are read.
  (memory (export "memory") 4)
  ;; A CALL frame of WIPC, 48 bytes long.
  (data (i32.const 512) "WIPC\02\27\00\00\00{\22jsonrpc\22:\222.0\22,\22method\22:\22big\22,\22id\22:1}")

  (func $buffer (param $at i32) (param $address i32) (param $length i32)
    (i32.store (local.get $at) (local.get $address))
    (i32.store offset=4 (local.get $at) (local.get $length)))

  (func $write (param $fd i32) (param $address i32) (param $length i32)
    (call $buffer (i32.const 16) (local.get $address) (local.get $length))
    (drop (call $fd_write (local.get $fd) (i32.const 16) (i32.const 1) (i32.const 32))))

  ;; Writes the arguments and the environment as they are in memory. Then exits with a code that needs all 32 bits.
  (func $write_arguments
    (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 4)))
    (drop (call $environ_sizes_get (i32.const 0) (i32.const 4)))
    (drop (call $environ_get (i32.const 64) (i32.const 1024)))
    (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 4)))
    (call $proc_exit (i32.const -2)))

  ;; Writes without end and never reads. A full output blocks the guest.
  (func $flood
    (loop $again
      (call $write (i32.const 1) (i32.const 65536) (i32.const 65536))
      (br $again)))

  ;; Sends CALL frames of WIPC without end, and never reads.
  (func $ask
    (loop $again
      (call $write (i32.const 1) (i32.const 512) (i32.const 48))
      (br $again)))

  ;; Writes all of its input back. Each read is into two buffers, of which the first has four bytes.
  (func $read_scattered
    (loop $again
      (call $buffer (i32.const 16) (i32.const 65536) (i32.const 4))
      (call $buffer (i32.const 24) (i32.const 65540) (i32.const 1000))
      (drop (call $fd_read (i32.const 0) (i32.const 16) (i32.const 2) (i32.const 32)))
      (if (i32.eqz (i32.load (i32.const 32))) (then (return)))
      (call $write (i32.const 1) (i32.const 65536) (i32.load (i32.const 32)))
      (br $again)))

  ;; Reads single bytes, counts them, and exits with the count as its exit code.
  (func $count
    (local $bytes i32)
    (call $buffer (i32.const 16) (i32.const 65536) (i32.const 1))
    (loop $again
      (drop (call $fd_read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 32)))
      (if (i32.eqz (i32.load (i32.const 32))) (then (call $proc_exit (local.get $bytes))))
      (local.set $bytes (i32.add (local.get $bytes) (i32.const 1)))
      (br $again)))

  (func $spin (loop $again (br $again)))

  (func (export "_start")
    (local $letter i32)
    (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
    (drop (call $args_get (i32.const 64) (i32.const 1024)))
    (local.set $letter (i32.load8_u (i32.load (i32.const 68))))
    (if (i32.eq (local.get $letter) (i32.const 97)) (then (call $write_arguments))) ;; arguments
    (if (i32.eq (local.get $letter) (i32.const 98)) ;; bytes
      (then (call $count)))
    (if (i32.eq (local.get $letter) (i32.const 99)) ;; closes its input
      (then (drop (call $fd_close (i32.const 0))) (call $flood)))
    (if (i32.eq (local.get $letter) (i32.const 101)) (then (call $spin))) ;; endless
    (if (i32.eq (local.get $letter) (i32.const 102)) (then (call $flood))) ;; flood
    (if (i32.eq (local.get $letter) (i32.const 112)) ;; prints to stderr
      (then (call $write (i32.const 2) (i32.const 1024) (i32.load (i32.const 4)))))
    (if (i32.eq (local.get $letter) (i32.const 113)) (then (call $ask))) ;; asks by WIPC (q)
    (if (i32.eq (local.get $letter) (i32.const 115)) (then (call $read_scattered))) ;; scattered
    (if (i32.eq (local.get $letter) (i32.const 116)) ;; trap
      (then (call $write (i32.const 1) (i32.const 1024) (i32.const 5)) (unreachable)))))
