// Package resource is the vocabulary of the resource profiles of a policy: what can be done to files, to git
// repositories and to databases, and what each of these things does. Policies are checked by it and requests are read
// by it, so that a name that one side knows means the same on the other.
//
// Each vocabulary is one table; the names and the predicates come out of it. Names are exact, in lower case, and a
// predicate is false for what is no name of its vocabulary. Nothing here allocates but the functions that list names.
//
//	effects    read  write  writes bytes  deletes bytes  destroys  takes along
//	read       x     -      -             -              -         -
//	create     -     x      x             -              -         -
//	overwrite  -     x      x             -              x         -
//	append     -     x      x             -              -         -
//	truncate   -     x      -             x              x         -
//	delete     -     x      -             x              x         x
//	rename     -     x      -             -              x         x
//	copy       x     x      x             -              -         x
//	hard_link  -     x      -             -              -         x
//	symlink    -     x      -             -              -         -
//	chmod      -     x      -             -              -         x
//	chown      -     x      -             -              -         x
//	xattr      -     x      -             -              -         x
//	execute    x     -      -             -              -         -
//	egress     x     -      -             -              -         x
//
//	git operations      needs refs  uses remote  rewrites history  must fast-forward  at provider  moves branch  needs branch  unprotects
//	status              -           -            -                 -                  -            -             -             -
//	diff                -           -            -                 -                  -            -             -             -
//	log                 -           -            -                 -                  -            -             -             -
//	add                 -           -            -                 -                  -            -             -             -
//	commit              -           -            -                 -                  -            x             -             -
//	fetch               -           x            -                 -                  -            -             -             -
//	pull_ff_only        -           x            -                 x                  -            -             -             -
//	push_fast_forward   x           x            -                 x                  -            -             -             -
//	create_branch       x           -            -                 -                  -            -             -             -
//	create_tag          x           -            -                 -                  -            -             -             -
//	reset_hard          -           -            x                 -                  -            x             x             -
//	clean               -           -            -                 -                  -            -             -             -
//	rewrite_history     x           -            x                 -                  -            x             x             -
//	delete_ref          x           -            x                 -                  -            -             -             -
//	force_push          x           x            x                 -                  -            -             -             -
//	mirror_push         x           x            x                 -                  -            -             -             -
//	prune_remote        -           x            x                 -                  -            -             -             -
//	change_remote       -           x            -                 -                  -            -             -             -
//	change_protection   -           -            -                 -                  x            -             -             x
//	change_credentials  -           -            -                 -                  x            -             -             -
//	delete_repository   -           -            -                 -                  x            -             -             x
//
//	database operations  changes schema  indirect effects
//	select               -               -
//	insert               -               -
//	update               -               -
//	merge                -               -
//	delete               -               -
//	truncate             -               -
//	create_table         x               -
//	drop_table           x               -
//	add_column           x               -
//	drop_column          x               -
//	alter_column_type    x               -
//	add_constraint       x               -
//	drop_constraint      x               -
//	create_index         x               -
//	drop_index           x               -
//	create_schema        x               -
//	drop_schema          x               -
//	create_database      x               -
//	alter_database       x               -
//	drop_database        x               -
//	create_routine       x               x
//	replace_routine      x               x
//	execute_routine      -               -
//	change_trigger       x               x
//	change_row_security  x               -
//	grant                -               -
//	revoke               -               -
//	create_extension     x               -
package resource
