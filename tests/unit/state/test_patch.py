from __future__ import annotations

import hashlib

from langledger.state.patch import is_patch, patch_changes

ENVELOPE = """*** Begin Patch
*** Add File: docs/new.md
+# Title
+
+text
*** Update File: src/a.py
@@ def f():
-    return 1
+    return 2
*** Update File: src/old.py
*** Move to: src/new.py
@@
-x
+y
*** Delete File: src/gone.py
*** End Patch
*** Delete File: after/the/end.py
"""

GIT = """diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1 +1 @@
-one
+two
diff --git a/old name.py b/new name.py
similarity index 100%
rename from old name.py
rename to new name.py
diff --git a/fresh.py b/fresh.py
new file mode 100644
--- /dev/null
+++ b/fresh.py
@@ -0,0 +1 @@
+hello
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""


def seen(text: str) -> list[tuple[str, str, str | None]]:
    return [(change.action, change.path, change.other) for change in patch_changes(text)]


def test_the_envelope_names_every_file_with_what_is_done_to_it():
    assert seen(ENVELOPE) == [
        ("create", "docs/new.md", None),
        ("edit", "src/a.py", None),
        ("rename", "src/new.py", "src/old.py"),
        ("delete", "src/gone.py", None),
    ]


def test_an_added_file_has_the_hash_of_its_content():
    added = patch_changes(ENVELOPE)[0]
    assert added.content_hash == hashlib.sha256(b"# Title\n\ntext\n").hexdigest()
    assert patch_changes(ENVELOPE)[1].summary == "in def f():"


def test_a_git_diff_names_edits_renames_new_and_deleted_files_once_each():
    assert seen(GIT) == [
        ("edit", "src/a.py", None),
        ("rename", "new name.py", "old name.py"),
        ("create", "fresh.py", None),
        ("delete", "gone.py", None),
    ]


def test_a_plain_diff_needs_both_headers_and_a_hunk():
    plain = "--- a/x.py\t2024-01-01\n+++ b/x.py\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\n"
    assert seen(plain) == [("edit", "x.py", None)]
    assert not is_patch("--- a list\n+++ of things\nand no hunk\n")


def test_an_envelope_with_windows_line_ends_and_text_around_it():
    text = (
        "Here:\r\n*** Begin Patch\r\n*** Update File: a b.py\r\n@@\r\n-x\r\n+y\r\n*** End Patch\r\n"
    )
    assert seen(text) == [("edit", "a b.py", None)]


def test_an_envelope_that_is_cut_off_names_what_it_began():
    assert seen("*** Begin Patch\n*** Update File: a.py\n@@\n-x") == [("edit", "a.py", None)]
    assert seen("*** Begin Patch") == []
