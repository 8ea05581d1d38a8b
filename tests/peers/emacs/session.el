;;; session.el --- Tests duet-rpc with jsonrpc.el of Emacs  -*- lexical-binding: t; -*-

;; `cargo xtask test --only peers' runs this file. This command also runs it:
;;
;;   DUET_RPC=target/debug/duet-rpc emacs --batch -Q -l tests/peers/emacs/session.el
;;
;; The last line of the output has the counts of passed and failed checks. The exit status is 0 if all checks have
;; passed. If PORTWAY_REPORT names a file, the counts are also written to this file, as JSON.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'json)

(defvar session-passed 0)
(defvar session-failures nil)

(defun session-check (name expected found)
  "Count and print a check called NAME. It passes if EXPECTED and FOUND are equal."
  (if (equal expected found)
      (progn (cl-incf session-passed) (message "  ok      %s" name))
    (push (cons name (format "expected %S, found %S" expected found)) session-failures)
    (message "  FAILED  %s: expected %S, found %S" name expected found)))

(defun session-true (name found)
  "Count and print a check called NAME. It passes if FOUND is not nil."
  (session-check name t (and found t)))

(defun session-connect (name)
  "Start duet-rpc in a new process. Return a connection to this process, called NAME."
  (make-instance
   'jsonrpc-process-connection
   :name name
   :process (lambda ()
              (make-process :name name
                            :command (list (getenv "DUET_RPC") "rpc" "--log-level" "info")
                            :connection-type 'pipe
                            :coding 'utf-8-emacs-unix
                            :noquery t
                            ;; jsonrpc.el requires this name for the buffer of standard error.
                            :stderr (get-buffer-create (format "*%s stderr*" name))))))

(defun session-process (connection)
  "Return the process of CONNECTION."
  (jsonrpc--process connection))

(defun session-wait (condition)
  "Wait until the function CONDITION returns non-nil, for at most ten seconds."
  (let ((deadline (+ (float-time) 10)) found)
    (while (and (not (setq found (funcall condition))) (< (float-time) deadline))
      (accept-process-output nil 0.05))
    found))

(defun session-error-of-call (connection method params)
  "Call METHOD with PARAMS over CONNECTION. Return the code, message and data of the error response."
  (condition-case condition
      (list 'no-condition (jsonrpc-request connection method params))
    (jsonrpc-error
     (let ((details (cddr condition)))
       (list (alist-get 'jsonrpc-error-code details)
             (alist-get 'jsonrpc-error-message details)
             (alist-get 'jsonrpc-error-data details))))))

(defun session-exit-status (connection)
  "Wait until the process of CONNECTION has exited. Return its exit status."
  (let ((process (session-process connection)))
    (session-wait (lambda () (not (process-live-p process))))
    (list (process-status process) (process-exit-status process))))

(defconst session-methods
  '("initialize" "listMethods" "describeMethods" "version" "setLogLevel" "shutdown"))

(defun session-calls (connection)
  "Check all methods except shutdown over CONNECTION."
  (let* ((server (jsonrpc-request connection 'initialize nil))
         (version (plist-get (plist-get server :serverInfo) :version)))
    (session-check "initialize names the server" "duet-rpc" (plist-get (plist-get server :serverInfo) :name))
    (session-check "initialize names the protocol" "2.0" (plist-get server :protocolVersion))
    (session-true "the version is three numbers" (string-match-p "\\`[0-9]+\\.[0-9]+\\.[0-9]+\\'" version))
    (session-check "version and initialize return the same version" (list :version version)
                   (jsonrpc-request connection 'version nil)))
  (let ((methods (jsonrpc-request connection 'listMethods nil)))
    (session-check "listMethods lists six methods" session-methods
                   (mapcar (lambda (method) (plist-get method :name)) methods))
    (session-true "each method has a description"
                  (cl-every (lambda (method) (stringp (plist-get method :description))) methods)))
  (let ((methods (jsonrpc-request connection 'describeMethods nil)))
    (session-check "describeMethods describes six methods" session-methods
                   (mapcar (lambda (method) (plist-get method :name)) methods))
    (session-check "setLogLevel has the parameter level" ["level: string"] (plist-get (aref methods 4) :params)))
  (session-check "setLogLevel returns the new level" '(:level "debug" :success t)
                 (jsonrpc-request connection 'setLogLevel '(:level "DEBUG")))
  (session-check "params may be an empty object" t
                 (and (jsonrpc-request connection 'version (make-hash-table)) t))
  (session-check "params may be an empty array" t (and (jsonrpc-request connection 'version []) t)))

(defun session-errors (connection)
  "Check every kind of error that a call over CONNECTION can raise."
  (pcase-let ((`(,code ,message ,data) (session-error-of-call connection 'frobnicate nil)))
    (session-check "an unknown method: code" -32601 code)
    (session-true "an unknown method: message" (string-prefix-p "Method not found" message))
    (session-check "an unknown method: no data" nil data))
  (pcase-let ((`(,code ,message ,data) (session-error-of-call connection 'setLogLevel '(:level "verbose"))))
    (session-check "an unknown level: code" -32602 code)
    (session-true "an unknown level: message" (string-prefix-p "Invalid params" message))
    (session-check "an unknown level: param" "level" (plist-get data :param))
    (session-check "an unknown level: accepted" ["debug" "info" "warn" "error"] (plist-get data :accepted))
    (session-true "an unknown level: expected and received"
                  (and (stringp (plist-get data :expected)) (stringp (plist-get data :received)))))
  (pcase-let ((`(,code ,_ ,data) (session-error-of-call connection 'setLogLevel nil)))
    (session-check "a missing level: code" -32602 code)
    (session-check "a missing level: param" "level" (plist-get data :param)))
  (pcase-let ((`(,code ,_ ,data) (session-error-of-call connection 'version [1])))
    (session-check "params for a method without params: code" -32602 code)
    (session-check "params for a method without params: received" "array" (plist-get data :received)))
  (dolist (params '(5 "text" t))
    (pcase-let ((`(,code ,message ,_) (session-error-of-call connection 'version params)))
      (session-check (format "scalar params %S: code" params) -32600 code)
      (session-check (format "scalar params %S: message" params) "Invalid Request" message))))

(defun session-raw (connection bytes)
  "Send BYTES over CONNECTION. Return the error of the response whose id is null."
  (setf (jsonrpc-last-error connection) nil)
  (process-send-string (session-process connection) bytes)
  ;; A response with the id null belongs to no call. jsonrpc.el stores the error of the response, and then signals a
  ;; Lisp error, which is ignored here.
  (session-wait (lambda () (ignore-errors (accept-process-output (session-process connection) 0.05))
                  (jsonrpc-last-error connection))))

(defun session-errors-without-call (connection)
  "Check errors over CONNECTION that belong to no call."
  (let ((failure (session-raw connection "Content-Length: 5\r\n\r\nhello")))
    (session-check "invalid JSON: code" -32700 (plist-get failure :code))
    (session-check "invalid JSON: message" "Parse error" (plist-get failure :message)))
  (let ((failure (session-raw connection "Content-Length: 2\r\n\r\n[]")))
    (session-check "a batch: code" -32600 (plist-get failure :code))
    (session-check "a batch: message" "Batch requests not supported" (plist-get failure :message))
    (session-check "a batch: reason" '(:reason "batch-not-supported") (plist-get failure :data)))
  (pcase-dolist
      (`(,reason . ,bytes)
       `(("header-too-large" . ,(format "X-Padding: %s\r\nContent-Length: 2\r\n\r\n{}" (make-string 9000 ?p)))
         ("unsupported-content-type" . "Content-Length: 2\r\nContent-Type: application/json\r\n\r\n{}")
         ("bad-charset"
          . "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-16\r\n\r\n{}")
         ("invalid-id-type"
          . "Content-Length: 46\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"version\"}")
         ("oversize" . "Content-Length: 99999999999\r\n\r\n")))
    (let ((failure (session-raw connection bytes)))
      (session-check (format "%s: code" reason) -32600 (plist-get failure :code))
      (session-check (format "%s: reason" reason) (list :reason reason) (plist-get failure :data))))
  (session-true "the session continues after these errors" (jsonrpc-request connection 'version nil)))

(defun session-notifications (connection)
  "Check known and unknown notifications over CONNECTION."
  (jsonrpc-notify connection 'setLogLevel '(:level "info"))
  (jsonrpc-notify connection 'frobnicate nil)
  (jsonrpc-notify connection 'frobnicate '(:text "é€😀"))
  (session-true "a call after notifications is answered" (jsonrpc-request connection 'version nil)))

(defun session-asynchronous (connection)
  "Check a hundred calls over CONNECTION at the same time."
  (let ((order nil))
    (dotimes (number 100)
      (jsonrpc-async-request connection 'version nil
                             :success-fn (lambda (_) (push number order))
                             :error-fn #'ignore))
    (session-wait (lambda () (= (length order) 100)))
    (session-check "a hundred calls at the same time are answered in order" (number-sequence 0 99) (nreverse order))))

(defun session-run ()
  "Run all checks."
  (let ((connection (session-connect "duet")))
    (session-calls connection)
    (session-errors connection)
    (session-errors-without-call connection)
    (session-notifications connection)
    (session-asynchronous connection)
    (session-check "shutdown returns a message" '(:message "Shutting down gracefully")
                   (jsonrpc-request connection 'shutdown nil))
    (session-check "shutdown ends the daemon with status 0" '(exit 0) (session-exit-status connection)))
  (let ((connection (session-connect "duet-notified")))
    (session-true "a second daemon answers" (jsonrpc-request connection 'version nil))
    (jsonrpc-notify connection 'shutdown nil)
    (session-check "a shutdown notification ends the daemon with status 0" '(exit 0) (session-exit-status connection)))
  (let ((connection (session-connect "duet-closed")))
    (session-true "a third daemon answers" (jsonrpc-request connection 'version nil))
    (process-send-eof (session-process connection))
    (session-check "the daemon exits with status 0 when its input ends" '(exit 0) (session-exit-status connection))))

(defun session-report ()
  "Write the counts to the file that PORTWAY_REPORT names."
  (when-let ((file (getenv "PORTWAY_REPORT")))
    (let ((failures (mapcar (lambda (failure) `((name . ,(car failure)) (message . ,(cdr failure)))) session-failures)))
      (with-temp-file file
        (insert (json-encode `((passed . ,session-passed)
                               (failed . ,(length failures))
                               (failures . ,(vconcat failures)))))))))

(condition-case condition
    (session-run)
  (error (push (cons "the session" (format "%S" condition)) session-failures)))
(session-report)
(message "Emacs %s: %d passed, %d failed" emacs-version session-passed (length session-failures))
(kill-emacs (if session-failures 1 0))

;;; session.el ends here
